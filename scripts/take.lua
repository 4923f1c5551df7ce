-- take.lua: take permits of semaphores for queued callers, the first of them first.
-- KEYS[2i-1], KEYS[2i]          semaphore, an integer; this engine's receipt
-- ARGV[1]                       notAfter: server time in ms after which nothing may be taken; 0: no bound
-- ARGV[3i-1], ARGV[3i], ARGV[3i+1]  number of the call; 1 when it was sent before, else 0; the callers, "<permits>x<how many>,..."
-- reply per name: permits taken, for so many callers from the front as can be served, >= 0; LATE - now; a fault
local KEYS, ARGV = KEYS, ARGV
local tardy = late(ARGV[1])
if tardy then return tardy end

return each(#KEYS / 2, function(i)
	local semaphore, receipt, id, again = KEYS[2 * i - 1], KEYS[2 * i], ARGV[3 * i - 1], ARGV[3 * i] == '1'
	local before = earlier(receipt, id)
	if before and before > 0 then -- a WAIT that follows covers what its connection has written: so this writes, too
		local kept = call('PEXPIRE', receipt, RECEIPT)
		return kept == 1 and before or fault(kept, receipt)
	end
	if before then return before end
	local free, bad = number(semaphore)
	if not free then return bad end
	local taken = 0
	for want, callers in string.gmatch(ARGV[3 * i + 1], '(%d+)x(%d+)') do
		local served = math.max(0, math.min(tonumber(callers), math.floor((free - taken) / want)))
		taken = taken + served * want
		if served < tonumber(callers) then break end
	end
	if taken == 0 then -- what took nothing needs no receipt, unless a copy of it may still be on its way
		return again and note(receipt, id, 0) or 0
	end
	return once(receipt, id, taken, function() return call('DECRBY', semaphore, string.format('%.0f', taken)) end)
end)
