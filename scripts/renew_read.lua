-- renew_read.lua: prolong the holds of these readers only; the holds of others run out.
-- KEYS[2i-1], KEYS[2i]             lock, the hold's key
-- ARGV[1]                          PUBLISH, SPUBLISH or BOTH
-- ARGV[3i-1], ARGV[3i], ARGV[3i+1] owner, lease in ms, channel whose subscribers are to be counted, or empty
-- reply per name: 1 still held; with a channel its subscribers, >= 0; -1 not this owner's; a fault
local KEYS, ARGV = KEYS, ARGV
return each(#KEYS / 2, function(i)
	local lock, hold, owner, lease, channel = KEYS[2 * i - 1], KEYS[2 * i], ARGV[3 * i - 1], ARGV[3 * i], ARGV[3 * i + 1]
	local mine = call('HEXISTS', lock, owner)
	if type(mine) == 'table' then return lostor(mine, lock) end
	if mine == 0 then return -1 end
	local left = call('PTTL', hold)
	if type(left) == 'table' then return fault(left, hold) end
	-- The lock first: a write that Redis allows at maxmemory, before that of the hold key.
	local refused = prolong(lock, lease) or prolonghold(hold, left, lease)
	if refused then return refused end
	if channel == '' then return 1 end
	return listeners(ARGV[1], channel)
end)
