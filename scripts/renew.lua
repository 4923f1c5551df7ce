-- renew.lua: prolong mutexes that are still held by these owners.
-- KEYS[i]      lock
-- ARGV[i]      owner
-- after them   lease in ms: one for all, or one for each
-- reply per name: 1 still held; -1 not this owner's; a fault
local KEYS, ARGV = KEYS, ARGV
local n = #KEYS
return each(n, function(i)
	local lock = KEYS[i]
	local mine = call('HEXISTS', lock, ARGV[i])
	if type(mine) == 'table' then return lostor(mine, lock) end
	if mine == 0 then return -1 end
	return prolong(lock, ARGV[n + i] or ARGV[n + 1]) or 1
end)
