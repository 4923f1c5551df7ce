-- adopt.lua: take the place of owners that have mutexes, under fresh owner ids. A fenced lock gets a block of tokens besides.
-- invariant: late-acquire-does-nothing, detached-name-stays
-- KEYS[2i-1], KEYS[2i]       lock; the fencing counter of a fenced lock, else the lock again
-- ARGV[1], ARGV[2], ARGV[3]  notAfter (as acquire.lua), tokens in a block, ms after which an idle counter expires (0: never)
-- ARGV[3i+1], [3i+2], [3i+3] old owner, fresh owner, lease in ms
-- reply per name: as acquire_fenced.lua and acquire.lua; -1 the old owner does not have the lock
local KEYS, ARGV = KEYS, ARGV
local micros, deadline = microseconds(), tonumber(ARGV[1])
local now = math.floor(micros / 1000)
if deadline > 0 and now > deadline then return LATE - now end
local block, idle = tonumber(ARGV[2]), ARGV[3]

return each(#KEYS / 2, function(i)
	local lock, counter, old, fresh, lease = KEYS[2 * i - 1], KEYS[2 * i], ARGV[3 * i + 1], ARGV[3 * i + 2], ARGV[3 * i + 3]
	local found = call('HMGET', lock, old, fresh, 'mode')
	if found.err then return fault(found, lock) end
	if found[3] then return foreign() end
	if not found[1] and not found[2] then return -1 end
	local token = counter == lock and 1 or tokensof(counter, block, idle, micros)
	if token < 0 then return token end
	if found[2] then return prolong(lock, lease) or token end -- asked again
	return pass(lock, old, found[1], fresh, lease) or token
end)
