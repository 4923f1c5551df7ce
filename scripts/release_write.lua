-- release_write.lua: end a writer's holds, and wake everybody who waits. Also frees a foreign writer by its owner id
-- (force-unlock); reads of its own stay.
-- KEYS[i]              lock
-- ARGV[1]              PUBLISH, SPUBLISH or BOTH
-- ARGV[2i], ARGV[2i+1] owner (with :write), channel
-- reply per name: subscribers woken, >= 0; -1 not this owner's; -2 freed, but this user may not publish; a fault
local KEYS, ARGV = KEYS, ARGV
return each(#KEYS, function(i)
	local lock = KEYS[i]
	local gone = call('HDEL', lock, ARGV[2 * i]) -- a write that Redis allows at maxmemory
	if type(gone) == 'table' then return lostor(gone, lock) end
	if gone == 0 then return -1 end
	if redis.call('HLEN', lock) > 1 then
		redis.call('HSET', lock, 'mode', 'read')
	else
		redis.call('DEL', lock)
	end
	return publish(ARGV[1], ARGV[2 * i + 1], '1')
end)
