-- keys.lua: the keys of a wide call. It stands at the head of every script, behind the functions.
--
-- In a cluster a call may be WIDE: its names are in several hash slots, but a call can declare keys of one slot only. It declares its first key.
-- All keys follow its arguments, then their number, then KEYS; no other call with one key ends so. No command of the script may have keys of
-- two names: on Valkey 9.1 all scripts of all clients would fail from then on, until a restart (docs/CLOUDS.md).
local KEYS, ARGV = KEYS, ARGV
if WIDE then
	local last = #ARGV
	local n = tonumber(ARGV[last - 1])
	for i = 2, n do KEYS[i] = ARGV[last - 2 - n + i] end
	for i = last, last - 1 - n, -1 do ARGV[i] = nil end
end
