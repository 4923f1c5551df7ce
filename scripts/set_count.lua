-- set_count.lua: give latches their count, if they have none.
-- KEYS and ARGV as count_down.lua's, with the count
-- reply per name: 1 set; 0 there was one; LATE - now; a fault
local KEYS, ARGV = KEYS, ARGV
local tardy = late(ARGV[2])
if tardy then return tardy end

return each(#KEYS / 2, function(i)
	local latch, receipt, id = KEYS[2 * i - 1], KEYS[2 * i], ARGV[3 * i]
	local before = earlier(receipt, id)
	if before then return before end
	local left, there = number(latch)
	if not left then return there end
	if there then return note(receipt, id, 0) or 0 end
	return once(receipt, id, 1, function() return call('SET', latch, ARGV[3 * i + 1]) end, function()
		publish(ARGV[1], ARGV[3 * i + 2], '1')
		return 1
	end)
end)
