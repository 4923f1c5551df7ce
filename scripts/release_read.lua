-- release_read.lua: end a reader's holds, and wake who waits if no living reader is left. Also frees a foreign
-- reader by its owner id (force-unlock).
-- KEYS[2i-1], KEYS[2i]   lock, the key of the owner's first hold
-- ARGV[1], ARGV[2]       PUBLISH, SPUBLISH or BOTH; 1 when the hash slot is on its way to this node, else 0
-- ARGV[2i+1], ARGV[2i+2] owner, channel
-- reply per name: subscribers woken, >= 0, and 0 while others hold it; -1 not this owner's; -2 freed, but this user
--                 may not publish; a fault
local KEYS, ARGV = KEYS, ARGV

-- longest is what the hold key that lives longest has left, of all readers in the lock; not above 0: they are dead. nil:
-- that cannot be told, for keys of others may be on another node, either the one that the hash slot comes from or the
-- one that it goes to, of which Redis says that they are not local.
local function longest(lock)
	if ARGV[2] == '1' then return nil end
	local left = -3
	local fields = redis.call('HGETALL', lock)
	for f = 1, #fields, 2 do
		for n = tonumber(fields[f + 1]) or 0, 1, -1 do
			local ttl = call('PTTL', holdkey(lock, fields[f], n))
			if type(ttl) == 'table' then return nil end
			left = math.max(left, ttl)
		end
	end
	return left
end

return each(#KEYS / 2, function(i)
	local lock, hold, owner = KEYS[2 * i - 1], KEYS[2 * i], ARGV[2 * i + 1]
	local count = call('HGET', lock, owner)
	if type(count) == 'table' then return lostor(count, lock) end
	if not count then return -1 end
	local gone = call('HDEL', lock, owner) -- a write that Redis allows at maxmemory
	if type(gone) == 'table' then return fault(gone, lock) end
	call('DEL', hold)
	for n = tonumber(count) or 1, 2, -1 do call('DEL', holdkey(lock, owner, n)) end -- those of Redisson's
	if redis.call('HLEN', lock) > 1 then
		local left = longest(lock)
		if not left then return 0 end -- it ends by its TTL, which is theirs at least
		if left > 0 then
			redis.call('PEXPIRE', lock, left)
			return 0
		end
		if redis.call('HGET', lock, 'mode') == 'write' then return 0 end
	end
	redis.call('DEL', lock)
	return publish(ARGV[1], ARGV[2 * i + 2], '0')
end)
