-- take.lua: take permits of semaphores for queued callers, in their order. If too few are free, the engine gets a place in line
-- (called.lua); a call without callers gives the place up.
-- KEYS[3i-2], KEYS[3i-1], KEYS[3i]  semaphore, an integer; this engine's receipt; the line or the semaphore again
-- ARGV[1], ARGV[2], ARGV[3]         PUBLISH, SPUBLISH or BOTH; notAfter: server time in ms after which nothing may be taken, 0 for no bound; the
--                                   engine's uuid
-- ARGV[6i-2] ... ARGV[6i+3]         number of the call; 1 if it was sent before, else 0; the callers, "<permits>x<how many>,..."; the permits of
--                                   its place, 0 for no place; 1 if it collects; channel
-- reply per name: permits taken, for as many callers from the front as can be served, >= 1; -1 too few, or another engine is called; 0 there is
--                 no semaphore; plus STANDING times 1 to 16 if the place stands; LATE - now; a fault
local tardy = late(ARGV[2])
if tardy then return tardy end

return each(#KEYS / 3, function(i)
	local semaphore, receipt, line = KEYS[3 * i - 2], KEYS[3 * i - 1], KEYS[3 * i]
	local id, again, callers, wants = ARGV[6 * i - 2], ARGV[6 * i - 1] == '1', ARGV[6 * i], ARGV[6 * i + 1]
	local collects, channel = ARGV[6 * i + 2] == '1', ARGV[6 * i + 3]
	local before = earlier(receipt, id)
	if before and before > 0 then -- a write, because a WAIT that follows covers only what its connection has written
		local kept = call('PEXPIRE', receipt, RECEIPT)
		return kept == 1 and before or fault(kept, receipt)
	end
	if before then return before end
	local free, there = number(semaphore)
	if not free then return there end
	local turn = line ~= semaphore and (wants ~= '0' or call('EXISTS', line) ~= 0) and turnOf(line, ARGV[3], wants)
	local taken = 0
	if not turn or not turn.others then
		for want, some in string.gmatch(callers, '(%d+)x(%d+)') do
			local served = math.max(0, math.min(tonumber(some), math.floor((free - taken) / want)))
			taken = taken + served * want
			if served < tonumber(some) then break end
		end
	end
	if taken == 0 then -- a call that took nothing needs no receipt, unless a copy of it may still be on its way
		local place = there and -1 or 0
		if turn and callers == '' then
			quit(turn, ARGV[1], channel, free)
		elseif turn and wants ~= '0' then
			place = place + queue(turn, ARGV[3], string.match(callers, '%d+'), free, collects)
		end
		if turn and callers ~= '' then callOthers(turn, ARGV[1], channel, free) end
		return again and note(receipt, id, place) or place
	end
	return once(receipt, id, taken, function() return call('DECRBY', semaphore, string.format('%.0f', taken)) end, turn and function()
		tookTurn(turn, ARGV[1], channel, free - taken)
		return taken
	end)
end)
