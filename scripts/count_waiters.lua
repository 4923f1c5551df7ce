-- count_waiters.lua: count the waiters for locks, as a hint: the subscribers of their channels, or the queues of fair locks.
-- KEYS[2i-1], KEYS[2i]  lock; the queue of a fair lock, else the lock again
-- ARGV[1]               PUBLISH, SPUBLISH or BOTH
-- ARGV[i+1]             channel
-- reply per name: how many, >= 0; a fault
local KEYS, ARGV = KEYS, ARGV
return each(#KEYS / 2, function(i)
	local lock, queue = KEYS[2 * i - 1], KEYS[2 * i]
	if queue == lock then return listeners(ARGV[1], ARGV[i + 1]) end
	local waiting = call('LLEN', queue)
	if type(waiting) == 'table' then return fault(waiting, queue) end
	return waiting
end)
