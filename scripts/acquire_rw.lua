-- acquire_rw.lua: take read-write locks, by VERB acquire_read for reading, beside other readers, or acquire_write for writing. A refused
-- owner may get a place in line (line.lua). A repeated call under one owner id takes the lock once.
-- invariant: late-acquire-does-nothing
--                 acquire_read                                              acquire_write
-- KEYS per name   lock, its line or the lock again, the hold's key          lock, its line or the lock again
-- ARGV first      notAfter, publish                                         notAfter, publish
-- ARGV per name   owner, lease, channel, code of its place, yields          owner (with :write), lease, channel, code of its place
-- notAfter is the server time in ms after which nothing may be taken, 0: no bound; publish is PUBLISH, SPUBLISH or BOTH; leases are
-- in ms. The code is empty if the owner wants no place, and stands behind a - if a writer is only woken, as readers are. yields says to whom a
-- reader leaves a lock that others read: -2 to nobody, -1 to writers before it in line; n: also to Redisson's, of which it only knows
-- that the channel has more subscribers than n, which are our own.
-- reply per name: 1 granted; -(pttl+2) held by a writer, or by readers when we write, or left to a writer; STANDING, twice, thrice or four
--                 times, - (pttl+2) the same, and the place stands; LATE - now; a fault
local KEYS, ARGV = KEYS, ARGV
local tardy = late(ARGV[1])
if tardy then return tardy end

local reads, how = VERB == 'acquire_read', ARGV[2]
local keys, args = reads and 3 or 2, reads and 5 or 4
return each(#KEYS / keys, function(i)
	local k, a = keys * (i - 1), args * (i - 1) + 2
	local lock, line, hold = KEYS[k + 1], KEYS[k + 2], reads and KEYS[k + 3]
	local owner, lease, channel, code, yields = ARGV[a + 1], ARGV[a + 2], ARGV[a + 3], ARGV[a + 4], tonumber(ARGV[a + 5])
	local stands = line ~= lock and code ~= ''
	if reads then code = READER end
	local found = call('HMGET', lock, 'mode', owner)
	if found.err then return fault(found, lock) end
	local ttl = call('PTTL', lock)
	if type(ttl) == 'table' then return fault(ttl, lock) end
	if not found[1] and ttl ~= -2 then return foreign() end
	if found[1] and not found[2] or reads and found[1] == 'write' then -- another's
		local wait = not reads or found[1] == 'write'
		if not wait and yields >= -1 and line ~= lock and call('EXISTS', line) ~= 0 then wait = passes(line, owner .. ' ' .. READER, how, channel) end
		if wait then return taken(ttl) + (stands and stand(lock, line, owner, code, how, channel) or 0) end
		if yields >= 0 and listeners(how, channel) > yields then return taken(ttl) end
	end
	local left = reads and call('PTTL', hold)
	if type(left) == 'table' then return fault(left, hold) end
	local refused
	if found[2] then -- asked again
		refused = prolong(lock, lease) or hold and prolonghold(hold, left, lease)
	else
		refused = hold and prolonghold(hold, left, lease) -- first: alone it means nothing, and it ends by itself
		if refused then return refused end
		local reply = call('HSET', lock, 'mode', reads and 'read' or 'write', owner, '1')
		if type(reply) == 'table' then return fault(reply, lock) end
		if not found[1] then
			refused = bound(lock, lease, 'mode', owner)
		else
			refused = prolong(lock, lease)
			if refused then call('HDEL', lock, owner) end -- unchecked: the answer is the fault in any case
		end
	end
	if refused then return refused end
	if stands and forget(line, owner, code) == 1 and reads then follow(line, how, channel) end
	return 1
end)
