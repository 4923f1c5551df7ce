-- renew.lua: prolong mutexes that are still held by these owners.
-- KEYS[i]                lock
-- ARGV[2i-1], ARGV[2i]   owner, lease in ms
-- reply per name: 1 still held; -1 not this owner's; a fault
local KEYS, ARGV = KEYS, ARGV
return each(#KEYS, function(i)
	local lock = KEYS[i]
	local mine = call('HEXISTS', lock, ARGV[2 * i - 1])
	if type(mine) == 'table' then
		local code = fault(mine, lock)
		if code <= FAULT - 16 then return -1 end
		return code
	end
	if mine == 0 then return -1 end
	return prolong(lock, ARGV[2 * i]) or 1
end)
