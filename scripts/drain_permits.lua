-- drain_permits.lua: take all permits of semaphores.
-- KEYS and ARGV as give.lua's; the permits and the channel are not used
-- reply per name: how many they were, negative when they were below 0; LATE - now; a fault
local KEYS, ARGV = KEYS, ARGV
local tardy = late(ARGV[2])
if tardy then return tardy end

return each(#KEYS / 2, function(i)
	local semaphore, receipt, id = KEYS[2 * i - 1], KEYS[2 * i], ARGV[3 * i]
	local before = earlier(receipt, id)
	if before then return before end
	local free, there = number(semaphore)
	if not free then return there end
	if not there then return note(receipt, id, 0) or 0 end
	return once(receipt, id, free, function() return call('SET', semaphore, '0') end)
end)
