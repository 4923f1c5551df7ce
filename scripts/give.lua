-- give.lua: give permits back to semaphores, or add new ones, and wake their waiters.
-- KEYS[2i-1], KEYS[2i]              semaphore, an integer, made if there is none; this engine's receipt
-- ARGV[1], ARGV[2]                  PUBLISH, SPUBLISH or BOTH; notAfter
-- ARGV[3i], ARGV[3i+1], ARGV[3i+2]  number of the call, permits, channel
-- reply per name: subscribers woken, >= 0; -2 given, but this user may not publish; LATE - now; a fault
local KEYS, ARGV = KEYS, ARGV
local tardy = late(ARGV[2])
if tardy then return tardy end

return each(#KEYS / 2, function(i)
	local semaphore, receipt, id = KEYS[2 * i - 1], KEYS[2 * i], ARGV[3 * i]
	local before = earlier(receipt, id)
	if before then return before end
	local free, bad = number(semaphore)
	if not free then return bad end
	if free + tonumber(ARGV[3 * i + 1]) >= EXACT then return RANGE end
	mayGrow(receipt)
	return once(receipt, id, 0, function() return call('INCRBY', semaphore, ARGV[3 * i + 1]) end, function(now)
		return publish(ARGV[1], ARGV[3 * i + 2], string.format('%.0f', now))
	end)
end)
