-- acquire.lua: take mutexes. An owner id that has the lock already is granted again, so asking twice is harmless.
-- invariant: late-acquire-does-nothing, reply-says-what-redis-holds
-- KEYS[i]              lock, a hash of owner -> hold count; none of them twice
-- ARGV[1]              notAfter: server time in ms after which nothing may be taken; 0: no bound
-- ARGV[i+1]            owner
-- after them           lease in ms: one for all, or one for each
-- reply per name: 1 granted; -(pttl+2) held by another owner; LATE - now; a fault
local KEYS, ARGV = KEYS, ARGV
local deadline = tonumber(ARGV[1])
if deadline > 0 then
	local now = clock()
	if now > deadline then return LATE - now end
end

local allFree = call('EXISTS', unpack(KEYS)) == 0 -- one look for all names; if it is refused, one at each
local n = #KEYS
return each(n, function(i)
	local lock, owner, lease = KEYS[i], ARGV[i + 1], ARGV[n + i + 1] or ARGV[n + 2]
	local ttl = allFree and -2 or call('PTTL', lock)
	if ttl == -2 then
		local reply = call('HSET', lock, owner, '1')
		if reply ~= 1 then return fault(reply, lock) end
		return bound(lock, lease, owner) or 1
	end
	if type(ttl) == 'table' then return fault(ttl, lock) end
	local found = call('HMGET', lock, owner, 'mode')
	if found.err then return fault(found, lock) end
	if found[2] then return foreign() end
	if not found[1] then return taken(ttl) end
	return prolong(lock, lease) or 1
end)
