-- set_permits.lua: give semaphores their permits, if they have none yet.
-- KEYS and ARGV as give.lua's
-- reply per name: 1 set; 0 there were some, perhaps 0 or less; LATE - now; a fault
local KEYS, ARGV = KEYS, ARGV
local tardy = late(ARGV[2])
if tardy then return tardy end

return each(#KEYS / 2, function(i)
	local semaphore, receipt, id, permits = KEYS[2 * i - 1], KEYS[2 * i], ARGV[3 * i], ARGV[3 * i + 1]
	local before = earlier(receipt, id)
	if before then return before end
	local free, there = number(semaphore)
	if not free then return there end
	if there then return note(receipt, id, 0) or 0 end
	return once(receipt, id, 1, function() return call('SET', semaphore, permits) end, function()
		publish(ARGV[1], ARGV[3 * i + 2], permits)
		return 1
	end)
end)
