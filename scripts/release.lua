-- release.lua: free mutexes if this owner has them, and wake who waits. Also frees a foreign owner by its id (force-unlock).
-- KEYS[i]              lock
-- ARGV[1]              PUBLISH, SPUBLISH or BOTH
-- ARGV[2i], ARGV[2i+1] owner, channel
-- reply per name: subscribers woken, >= 0; -1 not this owner's; -2 freed, but this user may not publish; a fault
return each(#KEYS, function(i)
	local lock = KEYS[i]
	local mine = redis.pcall('HEXISTS', lock, ARGV[2 * i])
	if type(mine) == 'table' then
		local code = fault(mine, lock)
		if code <= FAULT - 16 then return -1 end -- another type stands there: the lock is gone
		return code
	end
	if mine == 0 then return -1 end
	local reply = redis.pcall('DEL', lock) -- the first write is one Redis allows at maxmemory
	if type(reply) == 'table' then return fault(reply, lock) end
	return publish(ARGV[1], ARGV[2 * i + 1], '0')
end)
