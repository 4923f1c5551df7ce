-- acquire_claim.lua: take mutexes, as acquire.lua and acquire_fenced.lua do, or leave claims to those that others have (claim.lua).
-- invariant: late-acquire-does-nothing, reply-says-what-redis-holds
-- KEYS[3i-2..3i]             lock; the claims to it: ours alone; the fencing counter of a fenced lock, else the lock again
-- ARGV[1], ARGV[2], ARGV[3]  as acquire_fenced.lua
-- ARGV[3i+1], [3i+2], [3i+3] owner, lease in ms, code of its claim
-- reply per name: as acquire_fenced.lua and acquire.lua; CLAIMED - (pttl+2) held by another owner, and the claim stands for CLAIM from now
local KEYS, ARGV = KEYS, ARGV
local micros, deadline = microseconds(), tonumber(ARGV[1])
local now = math.floor(micros / 1000)
if deadline > 0 and now > deadline then return LATE - now end
local block, idle = tonumber(ARGV[2]), ARGV[3]

return each(#KEYS / 3, function(i)
	local lock, claims, counter = KEYS[3 * i - 2], KEYS[3 * i - 1], KEYS[3 * i]
	local owner, lease, code = ARGV[3 * i + 1], ARGV[3 * i + 2], ARGV[3 * i + 3]
	local ttl = call('PTTL', lock)
	if type(ttl) == 'table' then return fault(ttl, lock) end
	local mine = false
	if ttl ~= -2 then
		local found = call('HMGET', lock, owner, 'mode')
		if found.err then return fault(found, lock) end
		if found[2] then return foreign() end
		if not found[1] then
			return claim(claims, owner, code, micros) and CLAIMED + taken(ttl) or taken(ttl)
		end
		mine = true
	end
	local token = counter == lock and 1 or tokensof(counter, block, idle, micros)
	if token < 0 then return token end
	local refused
	if mine then
		refused = prolong(lock, lease)
	else
		local reply = call('HSET', lock, owner, '1')
		if reply ~= 1 then return fault(reply, lock) end
		refused = bound(lock, lease, owner)
	end
	if refused then return refused end
	drop(claims, owner)
	return token
end)
