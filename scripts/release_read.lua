-- release_read.lua: end a reader's holds, and wake who waits if no living reader is left. Also frees a foreign
-- reader by its owner id (force-unlock).
-- KEYS[i]              lock
-- ARGV[1]              PUBLISH, SPUBLISH or BOTH
-- ARGV[2i], ARGV[2i+1] owner, channel
-- reply per name: subscribers woken, >= 0, and 0 while others hold it; -1 not this owner's; -2 freed, but this user
--                 may not publish; a fault
local KEYS, ARGV = KEYS, ARGV

-- longest is what the hold key that lives longest has left, of all readers in the lock; not above 0: they are dead.
local function longest(lock)
	local left = -3
	local fields = redis.call('HGETALL', lock)
	for f = 1, #fields, 2 do
		for n = tonumber(fields[f + 1]) or 0, 1, -1 do
			left = math.max(left, redis.call('PTTL', holdkey(lock, fields[f], n)))
		end
	end
	return left
end

return each(#KEYS, function(i)
	local lock, owner = KEYS[i], ARGV[2 * i]
	local count = call('HGET', lock, owner)
	if type(count) == 'table' then return lostor(count, lock) end
	if not count then return -1 end
	local hold = holdkey(lock, owner, 1)
	local left = call('PTTL', hold)
	if type(left) == 'table' then return fault(left, hold) end
	local gone = call('HDEL', lock, owner) -- a write that Redis allows at maxmemory
	if type(gone) == 'table' then return fault(gone, lock) end
	for n = tonumber(count) or 1, 1, -1 do redis.call('DEL', holdkey(lock, owner, n)) end
	if redis.call('HLEN', lock) > 1 then
		local left = longest(lock)
		if left > 0 then
			redis.call('PEXPIRE', lock, left)
			return 0
		end
		if redis.call('HGET', lock, 'mode') == 'write' then return 0 end
	end
	redis.call('DEL', lock)
	return publish(ARGV[1], ARGV[2 * i + 1], '0')
end)
