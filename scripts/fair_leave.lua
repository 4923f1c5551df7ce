-- fair_leave.lua: take waiters of ours out of the queues of fair locks, with the claim of one of them, and free the locks they got
-- meanwhile. The new head of a free lock's queue is woken.
-- KEYS[5i-4..5i] as fair_ask.lua
-- ARGV[1], [2]   PUBLISH, SPUBLISH or BOTH; the engine's uuid
-- per name       3 arguments from ARGV[3i] on: how many leave, the number of the first, channel
-- reply per name 0; a fault
local now, how, engine = clock(), ARGV[1], ARGV[2]
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
	if call('EXISTS', l.lock) == 0 and (freed == 1 or head ~= before) then wake(l, head, how, channel) end
	return refused or 0
end)
