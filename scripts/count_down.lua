-- count_down.lua: count latches down; one that reaches 0 is deleted, and its waiters are woken.
-- KEYS[2i-1], KEYS[2i]              latch, an integer; this engine's receipt
-- ARGV[1], ARGV[2]                  PUBLISH, SPUBLISH or BOTH; notAfter
-- ARGV[3i], ARGV[3i+1], ARGV[3i+2]  number of the call, how often to count down, channel
-- reply per name: 0 counted, or there is no latch; LATE - now; a fault
local KEYS, ARGV = KEYS, ARGV
local tardy = late(ARGV[2])
if tardy then return tardy end

return each(#KEYS / 2, function(i)
	local latch, receipt, id = KEYS[2 * i - 1], KEYS[2 * i], ARGV[3 * i]
	local before = earlier(receipt, id)
	if before then return before end
	local left, bad = number(latch)
	if not left then return bad end
	mayGrow(receipt)
	return once(receipt, id, 0, function()
		if left > tonumber(ARGV[3 * i + 1]) then return call('DECRBY', latch, ARGV[3 * i + 1]) end
		return call('DEL', latch)
	end, function()
		if left > 0 and left <= tonumber(ARGV[3 * i + 1]) then publish(ARGV[1], ARGV[3 * i + 2], '0') end
		return 0
	end)
end)
