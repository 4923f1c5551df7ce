-- downgrade.lua: make a writer, whose write holds have ended, the reader that it is too, and wake everybody who waits:
-- other readers may come in. Asked again after a lost answer it finds that done.
-- KEYS[2i-1], KEYS[2i]                         lock, the key of the reader's hold
-- ARGV[1]                                      PUBLISH, SPUBLISH or BOTH
-- ARGV[4i-2], ARGV[4i-1], ARGV[4i], ARGV[4i+1] owner with :write, owner, lease in ms, channel
-- reply per name: subscribers woken, >= 0; -1 not this owner's; -2 done, but this user may not publish; a fault
local KEYS, ARGV = KEYS, ARGV
return each(#KEYS / 2, function(i)
	local lock, hold, writer, reader, lease = KEYS[2 * i - 1], KEYS[2 * i], ARGV[4 * i - 2], ARGV[4 * i - 1], ARGV[4 * i]
	local found = call('HMGET', lock, writer, reader)
	if found.err then return lostor(found, lock) end
	if not found[1] and not found[2] then return -1 end
	local left = call('PTTL', hold)
	if type(left) == 'table' then return fault(left, hold) end
	if found[1] then
		local gone = call('HDEL', lock, writer) -- a write that Redis allows at maxmemory
		if type(gone) == 'table' then return fault(gone, lock) end
		redis.call('HSET', lock, 'mode', 'read', reader, '1')
	else
		local reply = call('PEXPIRE', lock, math.max(redis.call('PTTL', lock), tonumber(lease)))
		if type(reply) == 'table' then return fault(reply, lock) end
	end
	prolong(lock, lease)
	prolonghold(hold, left, redis.call('PTTL', lock))
	if not found[1] then return 0 end
	return publish(ARGV[1], ARGV[4 * i + 1], '1')
end)
