-- release_read.lua: end a reader's holds, and wake the waiters if no living reader is left. Also frees a foreign
-- reader by its owner id (force-unlock).
-- KEYS[2i-1], KEYS[2i]   lock, the key of the owner's first hold
-- ARGV[1], ARGV[2]       PUBLISH, SPUBLISH or BOTH; 1 if the script must not look at the keys of other readers, because the hash slot is
--                        migrating to this node or the engine keeps to declared keys, else 0
-- ARGV[2i+1], ARGV[2i+2] owner, channel
-- reply per name: subscribers woken, >= 0, and 0 while others hold it; -1 not this owner's; -2 freed, but this user
--                 may not publish; a fault
local KEYS, ARGV = KEYS, ARGV
local declared = ARGV[2] == '1'

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
return each(#KEYS / 2, function(i)
	local lock, hold, owner = KEYS[2 * i - 1], KEYS[2 * i], ARGV[2 * i + 1]
	local count = call('HGET', lock, owner)
	if type(count) == 'table' then return lostor(count, lock) end
	if not count then return -1 end
	local fields = call('HLEN', lock)
	if type(fields) == 'table' then return fault(fields, lock) end
	local left, gone = -3, nil
	if fields > 2 then left = others(lock, owner) end -- more than the mode and this owner
	if left and left <= 0 then gone = call('DEL', lock) else gone = call('HDEL', lock, owner) end
	if gone ~= 1 then return fault(gone, lock) end
	drop(lock, hold, owner, count)
	if left and left <= 0 then return publish(ARGV[1], ARGV[2 * i + 2], '0') end
	if left then call('PEXPIRE', lock, left) end -- unchecked: else it ends by its TTL, which is theirs at least
	return 0
end)
