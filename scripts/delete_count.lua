-- delete_count.lua: delete latches. The message 1 says that something has changed; waiters look again.
-- KEYS and ARGV as count_down.lua's; the count is not used
-- reply per name: 1 deleted; 0 there was none; LATE - now; a fault
local KEYS, ARGV = KEYS, ARGV
local tardy = late(ARGV[2])
if tardy then return tardy end

return each(#KEYS / 2, function(i)
	local latch, receipt, id = KEYS[2 * i - 1], KEYS[2 * i], ARGV[3 * i]
	local before = earlier(receipt, id)
	if before then return before end
	local left, there = number(latch)
	if not left and there ~= RANGE then return there end
	if not there then return note(receipt, id, 0) or 0 end
	mayGrow(receipt)
	return once(receipt, id, 1, function() return call('DEL', latch) end, function()
		publish(ARGV[1], ARGV[3 * i + 2], '1')
		return 1
	end)
end)
