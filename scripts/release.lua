-- release.lua: free mutexes if this owner has them, and wake their waiters. Also frees a foreign owner by its id (force-unlock).
-- KEYS[i]              lock
-- ARGV[1]              PUBLISH, SPUBLISH or BOTH
-- ARGV[2i], ARGV[2i+1] owner, channel
-- reply per name: subscribers woken, >= 0; -1 not this owner's; -2 freed, but this user may not publish; a fault
local KEYS, ARGV = KEYS, ARGV
return each(#KEYS, function(i)
	local freed = call('HDEL', KEYS[i], ARGV[2 * i]) -- a write that Redis allows at maxmemory; the key goes with its last field
	if freed == 1 then return publish(ARGV[1], ARGV[2 * i + 1], '0') end
	if freed == 0 then return -1 end
	return lostor(freed, KEYS[i])
end)
