-- acquire_rw.lua: take read-write locks, by VERB: acquire_read for reading, beside other readers; acquire_write for writing;
-- acquire_write_in_line likewise, and a refused writer gets a place in line (line.lua). A repeated call under one owner id takes the lock once.
-- The lock is Redisson's: a hash with a field mode, read or write, and a field for each owner with its hold count. A writer's field is its
-- owner id and ":write". Each hold of a reader also has a key of its own, with that hold's lease: when all these keys are gone, the readers
-- in the hash are dead.
-- invariant: late-acquire-does-nothing
--                 acquire_read                       acquire_write           acquire_write_in_line
-- KEYS per name   lock, its line or the lock again,  lock                    lock, its line or the lock again
--                 the hold's key
-- ARGV first      notAfter, publish                  notAfter                notAfter, publish
-- ARGV per name   owner, lease, code of its place    owner (with :write),    owner (with :write), lease, code of its place
--                                                    lease
-- notAfter is the server time in ms after which nothing may be taken, 0: no bound; publish is PUBLISH, SPUBLISH or BOTH; leases are
-- in ms. The code is empty if a reader wants no place. While others read, a reader lets the writers before it in line pass, and in
-- a part of each round those who listen. A free lock is left to a reader in line that was told of it (line.lua).
-- reply per name: 1 granted; -(pttl+2) held by a writer, or by readers if the call writes, or left to others; the same plus STANDING times
--                 1 to 4: the place stands; LATE - now; a fault
local tardy = late(ARGV[1])
if tardy then return tardy end

local reads, lined, how = VERB == 'acquire_read', VERB == 'acquire_write_in_line', ARGV[2]
local keys, args, head = reads and 3 or lined and 2 or 1, (reads or lined) and 3 or 2, (reads or lined) and 2 or 1
local free = not lined and not WIDE and call('EXISTS', unpack(KEYS)) == 0 -- one look for all names; if it is refused, one at each
return each(#KEYS / keys, function(i, there)
	local free = free or WIDE and (there or call('EXISTS', KEYS[i])) == 0
	local k, a = keys * (i - 1), args * (i - 1) + head
	local lock, line, hold, owner, lease, code = KEYS[k + 1], KEYS[k + 2], reads and KEYS[k + 3], ARGV[a + 1], ARGV[a + 2], ARGV[a + 3]
	local stands = head == 2 and line ~= lock and code ~= ''
	local found, ttl, left = {}, -2, -2
	if not free then
		found = call('HMGET', lock, 'mode', owner)
		if found.err then return fault(found, lock) end
		ttl = call('PTTL', lock)
		if type(ttl) == 'table' then return fault(ttl, lock) end
		if not found[1] and ttl ~= -2 then return foreign() end
	end
	if found[1] and not found[2] or reads and found[1] == 'write' then -- held by others
		local channel = channelof(lock)
		if not reads or found[1] == 'write' or line ~= lock and call('EXISTS', line) ~= 0 and passes(line, owner .. ' ' .. READER, how, channel) then
			return taken(ttl) + (stands and stand(lock, line, owner, reads and READER or code, lease, how, channel) or 0)
		end
		local wait = line ~= lock and makesWay() or 0
		if wait > 0 and listeners(how, channel) == 0 then wait = 0 end
		local place = wait > 0 and stands and stand(lock, line, owner, READER, lease, how, channel)
		if wait > 0 and place ~= 0 then
			if place then ageTurn(line) end
			if place and place < 2 * STANDING then place = place - 2 * STANDING end -- it does not listen, or others would make way for it
			return taken(wait) + (place or 0)
		end
	end
	if lined and line ~= lock and not found[1] then
		local wait = leftToReader(line)
		if wait > 0 then return taken(wait) + (stands and stand(lock, line, owner, code, lease, how, channelof(lock)) or 0) end
	end
	if reads and not free then left = call('PTTL', hold) end
	if type(left) == 'table' then return fault(left, hold) end
	local refused
	if found[2] then -- asked again
		refused = prolong(lock, lease) or hold and prolonghold(hold, left, lease)
	else
		refused = hold and prolonghold(hold, left, lease) -- first, because alone it means nothing, and it ends by itself
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
	if stands and forget(line, owner, reads and READER or code) == 1 and reads then follow(line, how, channelof(lock)) end
	return 1
end)
