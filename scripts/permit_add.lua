-- permit_add.lua: change how many permits that expire are free, up or down; they may go below 0. The message is not how many there
-- are, as a semaphore's, but how many came; when some were taken away there is none. An end of life that the key had is dropped.
-- KEYS and ARGV as give.lua's; the permits may be negative
-- reply per name: subscribers woken, >= 0; -2 changed, but this user may not publish; LATE - now; a fault
local KEYS, ARGV = KEYS, ARGV
local tardy = late(ARGV[2])
if tardy then return tardy end

return each(#KEYS / 2, function(i)
	local key, receipt, id, permits = KEYS[2 * i - 1], KEYS[2 * i], ARGV[3 * i], ARGV[3 * i + 1]
	local before = earlier(receipt, id)
	if before then return before end
	local free, bad = number(key)
	if not free then return bad end
	local sum = free + tonumber(permits)
	if math.abs(sum) >= EXACT then return RANGE end
	return once(receipt, id, 0, function() return call('SET', key, string.format('%.0f', sum)) end, function()
		if tonumber(permits) <= 0 then return 0 end
		return publish(ARGV[1], ARGV[3 * i + 2], permits)
	end)
end)
