-- release_rw.lua: end the holds of an owner of a read-write lock. VERB release_read ends a reader's: if no living reader is left, the lock is
-- given to its line (line.lua), or the waiters are woken. VERB release_write ends a writer's, likewise; if the writer still reads, waiting
-- readers are woken. release_read_from_line and release_write_from_line also give up the owner's place in line. Force-unlock uses them with
-- the id of another owner.
--                 release_read (_from_line)                           release_write (_from_line)
-- KEYS per name   lock, its line or the lock again, the key of the    lock, its line or the lock again
--                 owner's first hold
-- ARGV first      publish, declared                                   publish
-- ARGV per name   owner, channel (, code of its place)                owner (with :write), channel (, code of its place)
-- publish is PUBLISH, SPUBLISH or BOTH; declared is 1 if the script must not look at the keys of other readers, because the hash slot is
-- migrating to this node or the engine keeps to declared keys, else 0.
-- reply per name: subscribers woken, >= 0, and a PLACE for each place in line, and 0 while other readers hold it; GIVEN to the
--                 line; -1 not this owner's; -2 freed, but this user may not publish; a fault
local reads, leaves = VERB == 'release_read' or VERB == 'release_read_from_line', VERB == 'release_read_from_line' or VERB == 'release_write_from_line'
local declared, how = ARGV[2] == '1', ARGV[1]
local keys, args, head = reads and 3 or 2, leaves and 3 or 2, reads and 2 or 1

local lined = not none(KEYS, 2, keys)

-- The owner goes by one write, of a kind that Redis allows at maxmemory: either its field goes, or the whole lock with it.
return each(#KEYS / keys, function(i, there)
	local k, a = keys * (i - 1), args * (i - 1) + head
	local lock, line, hold, owner, channel = KEYS[k + 1], lined and KEYS[k + 2], KEYS[k + 3], ARGV[a + 1], ARGV[a + 2]
	if line == lock then line = nil end
	local forgot = line and leaves and leave(line, owner, reads and READER or ARGV[a + 3], how, channel)
	local count = call('HGET', lock, owner)
	if type(count) == 'table' then return lostor(count, lock) end
	if not count then return type(forgot) == 'table' and lostor(forgot, line) or -1 end -- nothing else here is a write
	if there == 1 then line = nil end -- the one key was the lock
	local fields = call('HLEN', lock)
	if type(fields) == 'table' then return fault(fields, lock) end
	local left = -3
	if fields > 2 then -- more than the mode and this owner
		left = nil
		if reads and not declared then left = others(lock, owner) end
	end
	local last, gone = left and left <= 0, nil
	if last then gone = call('DEL', lock) else gone = call('HDEL', lock, owner) end
	if gone ~= 1 then return fault(gone, lock) end
	if reads then -- without the field in the lock the keys of its holds mean nothing, and they end by themselves
		call('DEL', hold) -- unchecked: it ends by itself
		for n = declared and 1 or tonumber(count) or 1, 2, -1 do -- Redisson's readers have one for each hold
			call('DEL', holdkey(lock, owner, n)) -- unchecked: as above; undeclared: unless the engine keeps to declared keys
		end
	end
	local message = reads and '0' or '1'
	if last then return line and giveOrFree(lock, line, how, channel, owner, message) or publish(how, channel, message) end
	if reads then
		if left then call('PEXPIRE', lock, left) end -- unchecked: without it the lock lasts for its TTL, which is no shorter
		if line then warn(lock, line, how, channel) end
		return 0
	end
	call('HSET', lock, 'mode', 'read') -- unchecked: without it the lock lets nobody in until its TTL ends
	if line then tellReaders(line, how, channel) end
	return publish(how, channel, message)
end)
