-- get_count.lua: how far latches have still to be counted down.
-- KEYS[i]  latch
-- reply per name: the count, 0 when there is no latch; a fault
local KEYS = KEYS
return each(#KEYS, function(i)
	local left, bad = number(KEYS[i])
	if not left then return bad end
	return math.max(left, 0)
end)
