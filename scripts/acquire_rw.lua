-- acquire_rw.lua: take read-write locks, by VERB acquire_read for reading, beside other readers, or acquire_write for writing. A
-- repeated call under one owner id takes the lock once.
-- invariant: late-acquire-does-nothing
--                 acquire_read                       acquire_write
-- KEYS per name   lock, the hold's key               lock
-- ARGV first      notAfter, publish                  notAfter
-- ARGV per name   owner, lease, channel, own         owner (with :write), lease
-- notAfter is the server time in ms after which nothing may be taken, 0: no bound; publish is PUBLISH, SPUBLISH or BOTH; leases are
-- in ms; own is how many subscriptions to the channel are our own: if it has more, a writer waits and comes first; -1: do not look.
-- reply per name: 1 granted; -(pttl+2) held by a writer, or by readers when we write, or a writer waits for it; LATE - now; a fault
local tardy = late(ARGV[1])
if tardy then return tardy end

local reads = VERB == 'acquire_read'
return each(reads and #KEYS / 2 or #KEYS, function(i)
	local lock, owner, lease, hold, own = KEYS[i], ARGV[2 * i], ARGV[2 * i + 1], nil, nil
	if reads then
		lock, hold, owner, lease, own = KEYS[2 * i - 1], KEYS[2 * i], ARGV[4 * i - 1], ARGV[4 * i], tonumber(ARGV[4 * i + 2])
	end
	local found = call('HMGET', lock, 'mode', owner)
	if found.err then return fault(found, lock) end
	local ttl = call('PTTL', lock)
	if type(ttl) == 'table' then return fault(ttl, lock) end
	if not found[1] and ttl ~= -2 then return foreign() end
	local left
	if reads then
		if found[1] == 'write' then return taken(ttl) end
		if found[1] and own >= 0 and listeners(ARGV[2], ARGV[4 * i + 1]) > own then return taken(ttl) end
		left = call('PTTL', hold)
		if type(left) == 'table' then return fault(left, hold) end
	elseif found[1] and not found[2] then
		return taken(ttl)
	end
	if found[2] then return prolong(lock, lease) or hold and prolonghold(hold, left, lease) or 1 end -- asked again
	local refused = hold and prolonghold(hold, left, lease) -- first: alone it means nothing, and it ends by itself
	if refused then return refused end
	local reply = call('HSET', lock, 'mode', reads and 'read' or 'write', owner, '1')
	if type(reply) == 'table' then return fault(reply, lock) end
	if not found[1] then return bound(lock, lease, 'mode', owner) or 1 end
	refused = prolong(lock, lease)
	if refused then call('HDEL', lock, owner) end -- unchecked: the answer is the fault in any case
	return refused or 1
end)
