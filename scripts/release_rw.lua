-- release_rw.lua: end the holds of an owner of a read-write lock. By VERB release_read a reader's: the waiters are woken if no living
-- reader is left; or release_write a writer's: all waiters are woken, and reads of its own stay. Also frees a foreign owner by its id
-- (force-unlock).
--                 release_read                              release_write
-- KEYS per name   lock, the key of the owner's first hold   lock
-- ARGV first      publish, declared                         publish
-- ARGV per name   owner, channel                            owner (with :write), channel
-- publish is PUBLISH, SPUBLISH or BOTH; declared is 1 if the script must not look at the keys of other readers, because the hash slot is
-- migrating to this node or the engine keeps to declared keys, else 0.
-- reply per name: subscribers woken, >= 0, and 0 while other readers hold it; -1 not this owner's; -2 freed, but this user may not
--                 publish; a fault
local reads, declared = VERB == 'release_read', ARGV[2] == '1'

-- others is for how long the readers besides this owner live: what the hold key that lives longest has left; not above 0:
-- they are dead, or there are none. nil: that cannot be told, for keys of others may be on another node, either the one that the
-- hash slot comes from or the one that it goes to, of which Redis says that they are not local; or there is a writer.
local function others(lock, owner)
	if declared then return nil end
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

-- The owner goes by one write, of a kind that Redis allows at maxmemory: either its field goes, or the whole lock with it.
return each(reads and #KEYS / 2 or #KEYS, function(i)
	local lock, owner, channel, hold = KEYS[i], ARGV[2 * i], ARGV[2 * i + 1], nil
	if reads then
		lock, hold, owner, channel = KEYS[2 * i - 1], KEYS[2 * i], ARGV[2 * i + 1], ARGV[2 * i + 2]
	end
	local count = call('HGET', lock, owner)
	if type(count) == 'table' then return lostor(count, lock) end
	if not count then return -1 end
	local fields = call('HLEN', lock)
	if type(fields) == 'table' then return fault(fields, lock) end
	local left = -3
	if fields > 2 then left = reads and others(lock, owner) end -- more than the mode and this owner
	local last, gone = left and left <= 0, nil
	if last then gone = call('DEL', lock) else gone = call('HDEL', lock, owner) end
	if gone ~= 1 then return fault(gone, lock) end
	if not reads then
		if not last then call('HSET', lock, 'mode', 'read') end -- unchecked: as a writer's the lock lets nobody in before it ends by its TTL
		return publish(ARGV[1], channel, '1')
	end
	drop(lock, hold, owner, count)
	if last then return publish(ARGV[1], channel, '0') end
	if left then call('PEXPIRE', lock, left) end -- unchecked: else it ends by its TTL, which is theirs at least
	return 0
end)
