-- confirm.lua: renew mutexes whose tenure is being handed on, and count the subscribers of their channels.
-- KEYS[i]                      lock
-- ARGV[1]                      PUBLISH, SPUBLISH or BOTH
-- ARGV[3i-1], ARGV[3i], ARGV[3i+1]  owner, lease in ms, channel
-- reply per name: subscribers of the channel, >= 0, still held; -1 not this owner's; a fault
local KEYS, ARGV = KEYS, ARGV
return each(#KEYS, function(i)
	local lock = KEYS[i]
	local mine = call('HEXISTS', lock, ARGV[3 * i - 1])
	if type(mine) == 'table' then return lostor(mine, lock) end
	if mine == 0 then return -1 end
	return prolong(lock, ARGV[3 * i]) or listeners(ARGV[1], ARGV[3 * i + 1])
end)
