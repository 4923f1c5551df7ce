-- release_rw.lua: end the holds of an owner of a read-write lock. By VERB release_read a reader's: if no living reader is left, the lock is
-- given to its line (line.lua) or the waiters are woken; or release_write a writer's: likewise, but if reads of its own stay, those that wait
-- to read are woken. Also frees a foreign owner by its id (force-unlock).
--                 release_read                                        release_write
-- KEYS per name   lock, its line or the lock again, the key of the    lock, its line or the lock again
--                 owner's first hold
-- ARGV first      publish, declared                                   publish
-- ARGV per name   owner, channel, code of its place                   owner (with :write), channel, code of its place
-- publish is PUBLISH, SPUBLISH or BOTH; declared is 1 if the script must not look at the keys of other readers, because the hash slot is
-- migrating to this node or the engine keeps to declared keys, else 0. The code is empty if the owner has no place to give up.
-- reply per name: subscribers woken, >= 0, and a PLACE for each that stands in line, and 0 while other readers hold it; GIVEN to the
--                 line; -1 not this owner's; -2 freed, but this user may not publish; a fault
local KEYS, ARGV = KEYS, ARGV
local reads, declared, how = VERB == 'release_read', ARGV[2] == '1', ARGV[1]
local keys, head = reads and 3 or 2, reads and 2 or 1

-- others is for how long the readers besides this owner live: what the hold key that lives longest has left; not above 0:
-- they are dead, or there are none. nil: that cannot be told, for keys of others may be on another node, either the one that the
-- hash slot comes from or the one that it goes to, of which Redis says that they are not local; or there is a writer, or was one.
local function others(lock, owner)
	if not reads or declared then return nil end
	local left, writes = -3, false
	local fields = call('HGETALL', lock)
	if fields.err then return nil end
	for f = 1, #fields, 2 do
		for n = fields[f] ~= owner and tonumber(fields[f + 1]) or 0, 1, -1 do
			local ttl = call('PTTL', holdkey(lock, fields[f], n)) -- undeclared: unless the engine keeps to declared keys
			if type(ttl) == 'table' then return nil end
			left = math.max(left, ttl)
		end
		writes = writes or fields[f] == 'mode' and fields[f + 1] == 'write'
	end
	if left <= 0 and writes then return nil end
	return left
end

-- drop deletes the keys of a reader's holds. Without its field in the lock they mean nothing, and they end by themselves.
local function drop(lock, hold, owner, count)
	call('DEL', hold) -- unchecked: it ends by itself
	if declared then return end
	for n = tonumber(count) or 1, 2, -1 do -- those of Redisson's
		call('DEL', holdkey(lock, owner, n)) -- unchecked: it ends by itself; undeclared: unless the engine keeps to declared keys
	end
end

local lines = {}
for i = 1, #KEYS / keys do lines[i] = KEYS[keys * (i - 1) + 2] end
local lined = KEYS[1] ~= KEYS[2] and call('EXISTS', unpack(lines)) ~= 0 -- one look for all names; if it is refused, one at each

-- The owner goes by one write, of a kind that Redis allows at maxmemory: either its field goes, or the whole lock with it.
return each(#KEYS / keys, function(i)
	local k, a = keys * (i - 1), 3 * (i - 1) + head
	local lock, line, hold, owner, channel, code = KEYS[k + 1], KEYS[k + 2], reads and KEYS[k + 3], ARGV[a + 1], ARGV[a + 2], ARGV[a + 3]
	if line == lock or not lined then line = nil end
	if line and code ~= '' then leave(line, owner, reads and READER or code, how, channel) end
	local count = call('HGET', lock, owner)
	if type(count) == 'table' then return lostor(count, lock) end
	if not count then return -1 end
	local fields = call('HLEN', lock)
	if type(fields) == 'table' then return fault(fields, lock) end
	local left = -3
	if fields > 2 then left = others(lock, owner) end -- more than the mode and this owner
	local last, gone = left and left <= 0, nil
	if last then gone = call('DEL', lock) else gone = call('HDEL', lock, owner) end
	if gone ~= 1 then return fault(gone, lock) end
	if reads then drop(lock, hold, owner, count) end
	local message = reads and '0' or '1'
	if last then return line and handOver(lock, line, how, channel, owner, message) or publish(how, channel, message) end
	if reads then
		if left then call('PEXPIRE', lock, left) end -- unchecked: else it ends by its TTL, which is theirs at least
		return 0
	end
	call('HSET', lock, 'mode', 'read') -- unchecked: as a writer's the lock lets nobody in before it ends by its TTL
	if line then admit(line, how, channel) end
	return publish(how, channel, message)
end)
