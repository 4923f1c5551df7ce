-- acquire_write.lua: take locks for writing. A repeated call under one owner id takes the lock once.
-- KEYS[i]              lock
-- ARGV[1]              notAfter: server time in ms after which nothing may be taken; 0: no bound
-- ARGV[2i], ARGV[2i+1] owner (with :write), lease in ms
-- reply per name: 1 granted; -(pttl+2) held by readers or another writer; LATE - now; a fault
local KEYS, ARGV = KEYS, ARGV
local deadline = tonumber(ARGV[1])
if deadline > 0 then
	local now = clock()
	if now > deadline then return LATE - now end
end

return each(#KEYS, function(i)
	local lock, owner, lease = KEYS[i], ARGV[2 * i], ARGV[2 * i + 1]
	local found = call('HMGET', lock, 'mode', owner)
	if found.err then return fault(found, lock) end
	local ttl = call('PTTL', lock)
	if type(ttl) == 'table' then return fault(ttl, lock) end
	if not found[1] and ttl ~= -2 then return foreign() end
	if found[1] and not found[2] then return taken(ttl) end
	if found[2] then return prolong(lock, lease) or 1 end -- asked again
	local reply = call('HSET', lock, 'mode', 'write', owner, '1')
	if type(reply) == 'table' then return fault(reply, lock) end
	return bound(lock, lease, 'mode', owner) or 1
end)
