-- release_write.lua: end a writer's holds, and wake all waiters. Also frees a foreign writer by its owner id
-- (force-unlock); reads of its own stay.
-- KEYS[i]              lock
-- ARGV[1]              PUBLISH, SPUBLISH or BOTH
-- ARGV[2i], ARGV[2i+1] owner (with :write), channel
-- reply per name: subscribers woken, >= 0; -1 not this owner's; -2 freed, but this user may not publish; a fault
local KEYS, ARGV = KEYS, ARGV
return each(#KEYS, function(i)
	local lock = KEYS[i]
	local mine = call('HEXISTS', lock, ARGV[2 * i])
	if type(mine) == 'table' then return lostor(mine, lock) end
	if mine == 0 then return -1 end
	local fields = call('HLEN', lock)
	if type(fields) == 'table' then return fault(fields, lock) end
	-- One write frees it, of a kind that Redis allows at maxmemory.
	local gone
	if fields > 2 then gone = call('HDEL', lock, ARGV[2 * i]) else gone = call('DEL', lock) end -- more than the mode and this owner
	if gone ~= 1 then return fault(gone, lock) end
	if fields > 2 then call('HSET', lock, 'mode', 'read') end -- unchecked: as a writer's the lock lets nobody in before it ends by its TTL
	return publish(ARGV[1], ARGV[2 * i + 1], '1')
end)
