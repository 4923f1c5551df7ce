-- keys.lua: stands at the head of every script, behind the functions.
--
-- In a cluster a call may be WIDE: its names are in several hash slots, of which a call can declare the keys of one. It declares its first
-- key. Behind its arguments stand all keys, how many they are, and KEYS, by which no other call with one key ends. No command of it may have
-- keys of two names: on Valkey 9.1 all scripts would fail from then on, of whomever, until a restart (docs/CLOUDS.md).
local KEYS, ARGV = KEYS, ARGV
if WIDE then
	local last = #ARGV
	local n = tonumber(ARGV[last - 1])
	for i = 2, n do KEYS[i] = ARGV[last - 2 - n + i] end
	for i = last, last - 1 - n, -1 do ARGV[i] = nil end
end
