-- acquire_read.lua: take locks for reading, beside other readers. A repeated call under one owner id takes the lock once.
-- KEYS[2i-1], KEYS[2i]           lock, the hold's key
-- ARGV[1]                        notAfter: server time in ms after which nothing may be taken; 0: no bound
-- ARGV[2]                        PUBLISH, SPUBLISH or BOTH
-- ARGV[4i-1], ARGV[4i], ARGV[4i+1], ARGV[4i+2]
--                                owner, lease in ms, channel, own subscriptions to it: if there are more subscribers, a
--                                writer waits and comes first; -1: do not look
-- reply per name: 1 granted; -(pttl+2) a writer has it, or waits for it; LATE - now; a fault
local KEYS, ARGV = KEYS, ARGV
local deadline = tonumber(ARGV[1])
if deadline > 0 then
	local now = clock()
	if now > deadline then return LATE - now end
end

return each(#KEYS / 2, function(i)
	local lock, hold, owner, lease, own = KEYS[2 * i - 1], KEYS[2 * i], ARGV[4 * i - 1], ARGV[4 * i], tonumber(ARGV[4 * i + 2])
	local found = call('HMGET', lock, 'mode', owner)
	if found.err then return fault(found, lock) end
	local ttl = call('PTTL', lock)
	if type(ttl) == 'table' then return fault(ttl, lock) end
	if not found[1] and ttl ~= -2 then return foreign() end
	if found[1] == 'write' then return taken(ttl) end
	if found[1] and own >= 0 then
		if listeners(ARGV[2], ARGV[4 * i + 1]) > own then return taken(ttl) end
	end
	local left = call('PTTL', hold)
	if type(left) == 'table' then return fault(left, hold) end
	if found[2] then return prolong(lock, lease) or prolonghold(hold, left, lease) or 1 end -- asked again
	local refused = prolonghold(hold, left, lease) -- first: alone it means nothing, and it ends by itself
	if refused then return refused end
	local reply = call('HSET', lock, 'mode', 'read', owner, '1')
	if type(reply) == 'table' then return fault(reply, lock) end
	if not found[1] then return bound(lock, lease, 'mode', owner) or 1 end
	refused = prolong(lock, lease)
	if refused then call('HDEL', lock, owner) end -- unchecked: the answer is the fault in any case
	return refused or 1
end)
