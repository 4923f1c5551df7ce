-- detach.lua: pass mutexes to owners that no engine renews, and wake their waiters, who so learn how long the names stay taken.
-- A lock that was passed before is left as it is: how long it stays taken was said then.
-- invariant: detached-name-stays
-- KEYS[2i-1], KEYS[2i]                         lock; the queue of a fair lock, else the lock again
-- ARGV[1]                                      PUBLISH, SPUBLISH or BOTH
-- ARGV[4i-2], ARGV[4i-1], ARGV[4i], ARGV[4i+1] old owner, the one that nobody renews, lease in ms, channel; empty: nobody listens
-- reply per name: subscribers woken, >= 0; -1 not this owner's; -2 passed, but this user may not publish; a fault
local KEYS, ARGV = KEYS, ARGV
return each(#KEYS / 2, function(i)
	local lock, queue, old, fresh, channel = KEYS[2 * i - 1], KEYS[2 * i], ARGV[4 * i - 2], ARGV[4 * i - 1], ARGV[4 * i + 1]
	local found = call('HMGET', lock, old, fresh)
	if found.err then return lostor(found, lock) end
	if found[1] then
		local refused = pass(lock, old, found[1], fresh, ARGV[4 * i])
		if refused then return refused end
	elseif not found[2] then
		return -1
	end
	if channel == '' then return 0 end
	if queue ~= lock then -- of those who wait for a fair lock only the first asks
		local head = call('LINDEX', queue, 0)
		if type(head) ~= 'string' then return 0 end
		channel = channel .. ':' .. head
	end
	return publish(ARGV[1], channel, '0')
end)
