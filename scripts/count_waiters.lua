-- count_waiters.lua: count the waiters for locks: the subscribers of their channels and the places in their lines, or the queues of fair
-- locks.
-- KEYS[2i-1], KEYS[2i]  lock; the queue of a fair lock, the line of a mutex, else the lock again
-- ARGV[1]               PUBLISH, SPUBLISH or BOTH
-- ARGV[i+1]             channel; of a fair lock empty
-- reply per name: how many subscribers, >= 0, and a PLACE for each place in line or in the queue; a fault
return each(#KEYS / 2, function(i)
	local lock, other, channel = KEYS[2 * i - 1], KEYS[2 * i], ARGV[i + 1]
	if channel ~= '' then return listeners(ARGV[1], channel) + waiting(lock, other) end
	if other == lock then return 0 end
	local queued = call('LLEN', other)
	if type(queued) == 'table' then return fault(queued, other) end
	return PLACE * queued
end)
