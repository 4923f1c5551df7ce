-- fair_release.lua: free fair locks, or leave their queues. Each block is the script of a verb (compose.go).
-- KEYS[5i-4..5i] as fair_ask.lua
-- ARGV[1], [2]   PUBLISH, SPUBLISH or BOTH; the engine's uuid
local now, how, engine = clock(), ARGV[1], ARGV[2]

if VERB == 'fair_release' then
	-- fair_release frees fair locks if this owner has them, passes them on to the next of the same engine when it is its turn, or else gives them
	-- to the head of the queue, if its claim stands (claim.lua), or wakes it. An owner that has no lock is taken out of the queue. It also frees a
	-- foreign owner by its id (force-unlock).
	-- ARGV per name  4 arguments from ARGV[4i-1] on: owner; the number of the engine's first waiter, 0 for none; that one's lease in ms; channel
	-- reply per name: PASSED on; GIVEN + subscribers woken, when it was given to a claim; subscribers woken, >= 0; -1 not this owner's; -2 freed,
	--                but this user may not publish; a fault
	local PASSED = 1125899906842624 -- 2^50
	return each(#KEYS / 5, function(i)
		local l, arg = line(i), 4 * i - 1
		local owner, lease, channel = ARGV[arg], ARGV[arg + 2], ARGV[arg + 3]
		local successor = engine .. ':' .. ARGV[arg + 1] -- 0 is no waiter's number
		local freed = call('HDEL', l.lock, owner) -- a write that Redis allows at maxmemory; the last field takes the key along
		if type(freed) == 'table' then
			local code = lostor(freed, l.lock)
			if code ~= -1 then return code end
			freed = 0
		end
		local before = call('LINDEX', l.queue, 0)
		if type(before) == 'table' then return freed - 1 end -- no list: there is nobody to wake
		local standing = call('EXISTS', l.lock) ~= 0 -- also when that is refused: then nobody is let in
		if freed == 0 then
			if call('HEXISTS', l.lock, successor) == 1 then -- asked again after a lost answer
				return prolong(l.lock, lease) or PASSED
			end
			if engineOf(owner) == engine then leave(l, now, owner) end
		end
		purge(l, now, engine, tonumber(ARGV[arg + 1]))
		local heard = 0
		if not standing then
			local head = at(l, 0)
			if head == successor and take(l, now, successor, lease) == 1 then
				drop(l.claims, successor)
				return PASSED
			end
			local given = head and give(l, now, head, how, channel)
			heard = given and GIVEN + given or wake(l, head, how, channel)
		else
			wakeNew(l, before, nil, how, channel)
		end
		if freed == 0 then return -1 end
		return heard
	end)
end

if VERB == 'fair_leave' then
	-- fair_leave takes waiters of ours out of the queues of fair locks, with the claim of one of them, and frees the locks they got meanwhile. The
	-- new head is woken.
	-- ARGV per name  3 arguments from ARGV[3i] on: how many leave, the number of the first, channel
	-- reply per name: 0; a fault
	return each(#KEYS / 5, function(i)
		local l, arg = line(i), 3 * i
		local n, first, channel = tonumber(ARGV[arg]), tonumber(ARGV[arg + 1]), ARGV[arg + 2]
		local before = call('LINDEX', l.queue, 0)
		if type(before) == 'table' then return fault(before, l.queue) end
		local freed = 0
		for k = first, first + n - 1 do
			local owner = engine .. ':' .. string.format('%.0f', k)
			local had = call('HDEL', l.lock, owner)
			if type(had) == 'table' then had = lostor(had, l.lock) end
			if had == 1 then freed = 1 end
			if had < -1 then l.fault = had else leave(l, now, owner) end
		end
		local ours = claimOf(l.claims, engine)
		if ours and ours.number >= first and ours.number < first + n then drop(l.claims, ours.owner) end
		purge(l, now)
		local refused, head = l.fault, at(l, 0) -- of a fault somebody may still stand
		if freed == 1 or head ~= before then wake(l, head, how, channel) end
		return refused or 0
	end)
end
