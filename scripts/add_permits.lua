-- add_permits.lua: change how many permits semaphores have, up or down; they may go below 0. A TTL that the key had is dropped.
-- KEYS and ARGV as give.lua's; the permits may be negative
-- reply per name: subscribers woken, >= 0; -2 changed, but this user may not publish; LATE - now; a fault
local KEYS, ARGV = KEYS, ARGV
local tardy = late(ARGV[2])
if tardy then return tardy end

return each(#KEYS / 2, function(i)
	local semaphore, receipt, id = KEYS[2 * i - 1], KEYS[2 * i], ARGV[3 * i]
	local before = earlier(receipt, id)
	if before then return before end
	local free, bad = number(semaphore)
	if not free then return bad end
	local sum = free + tonumber(ARGV[3 * i + 1])
	if math.abs(sum) >= EXACT then return RANGE end
	local permits = string.format('%.0f', sum)
	return once(receipt, id, 0, function() return call('SET', semaphore, permits) end, function()
		return publish(ARGV[1], ARGV[3 * i + 2], permits)
	end)
end)
