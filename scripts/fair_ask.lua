-- fair_ask.lua: join the queues of fair locks, stay alive in them, and take a lock when it is this engine's turn. Asking twice is
-- harmless.
-- KEYS[5i-4..5i] lock, a hash of owner -> hold count; queue, a list of owners; deadlines, a sorted set of owner ->
--                ms; alive, a sorted set of engine -> until when its waiters live, ms: ours alone; the claims to the
--                lock (claim.lua): ours alone. One hash tag.
-- ARGV[1]        notAfter: server time in ms after which nothing may be done
-- ARGV[2], [3]   the engine's uuid; for how long from now it lives, in ms
-- ARGV[4]        PUBLISH, SPUBLISH or BOTH
-- per name       7 arguments from ARGV[7i-2] on: the number that is to take the lock, 0 for none; its place: TRY it
--                stands in no queue, NEW it is the first of those that join, OLD it stands already; its lease in
--                ms; how many join, and the number of the first: the others' follow; channel; the code of its claim, 0 for none
-- reply per name 1 taken; 0 nothing was to be taken; -(ms+2) not our turn for so long, unless somebody wakes us;
--                CLAIMED - (ms+2) the same, and the claim stands from now for the lease, CLAIM at most; LATE - now; a fault
local now = clock()
if now > tonumber(ARGV[1]) then return LATE - now end
local engine, life, how = ARGV[2], now + tonumber(ARGV[3]), ARGV[4]

-- live sets the time until which the engine is alive, and answers the fault by which Redis refused.
local function live(l)
	local reply = call('ZADD', l.alive, string.format('%.0f', life), engine)
	if type(reply) == 'table' then return fault(reply, l.alive) end
	ask(l, 'PEXPIRE', l.alive, KEEP)
	ask(l, 'ZREMRANGEBYSCORE', l.alive, '-inf', string.format('%.0f', now - KEEP))
end

local function freshen(l)
	local head, tail = at(l, 0), at(l, -1)
	if not head then return end
	if lifeOf(l, head) then lift(l, now, head, deadlineOf(l, head)) end
	if tail ~= head and lifeOf(l, tail) then
		local deadline = deadlineOf(l, tail)
		if deadline and deadline < now + WAIT / 2 then setDeadline(l, tail, now + WAIT) end
	end
end

-- join puts waiters at the tail. Behind a waiter of Redisson their deadline is computed from its own, as Redisson does; behind a waiter of an
-- engine it is the same as that one's. It answers the fault by which Redis refused the deadlines.
local function join(l, n, first, except)
	local deadline, tail = now + WAIT, at(l, -1)
	local from = tail and deadlineOf(l, tail)
	if from then deadline = math.max(deadline, lifeOf(l, tail) and from or from + WAIT) end
	local score = string.format('%.0f', deadline)
	local owners, scores = {}, {}
	for k = first, first + n - 1 do
		local owner = engine .. ':' .. string.format('%.0f', k)
		if owner ~= except and not deadlineOf(l, owner) then
			owners[#owners + 1] = owner
			scores[#scores + 1], scores[#scores + 2] = score, owner
		end
	end
	if #owners == 0 then return end
	local reply = call('ZADD', l.deadlines, unpack(scores))
	if type(reply) == 'table' then return fault(reply, l.deadlines) end
	if ask(l, 'RPUSH', l.queue, unpack(owners)) then return end
	ask(l, 'ZREM', l.deadlines, unpack(owners)) -- a waiter with a deadline counts as standing in the queue
end

-- goBack puts a waiter that was purged back to the head: Redisson purges only heads. A waiter of Redisson behind it keeps its own wait: those
-- behind move back by as much as the purge moved them (advance). The deadline comes last, because a waiter with a deadline counts as standing.
local function goBack(l, me)
	if not (ask(l, 'LREM', l.queue, 0, me) and ask(l, 'LPUSH', l.queue, me)) then return end
	local second = at(l, 1)
	if second and not lifeOf(l, second) then
		shift(l, 1, WAIT - math.min(math.max(ask(l, 'PTTL', l.lock) or 0, 0), WAIT))
	end
	return ask(l, 'ZADD', l.deadlines, string.format('%.0f', now + WAIT), me)
end

-- turn returns for how many ms a free lock is left to the head. One without a deadline gets one: nobody, Redisson neither, would ever remove it.
local function turn(l, head)
	local ends = lifeOf(l, head) or deadlineOf(l, head)
	if not ends and not l.fault then
		ends = now + WAIT
		ask(l, 'ZADD', l.deadlines, string.format('%.0f', ends), head)
	end
	return math.max((ends or now) - now, 1)
end

-- refuse answers that it is not this engine's turn for ms, and leaves a claim if the call has a code.
local function refuse(l, me, code, lease, ms)
	if code ~= '0' and claim(l.claims, me, code, tonumber(lease), now * 1000) then return CLAIMED + taken(ms) end
	return taken(ms)
end

return each(#KEYS / 5, function(i)
	local l, arg = line(i), 7 * i - 2
	local code = ARGV[arg + 6]
	local id, place, lease, n, first = ARGV[arg], ARGV[arg + 1], ARGV[arg + 2], tonumber(ARGV[arg + 3]), tonumber(ARGV[arg + 4])
	local me = id ~= '0' and engine .. ':' .. id
	local head = call('LINDEX', l.queue, 0)
	if type(head) == 'table' then return fault(head, l.queue) end
	local ttl = call('PTTL', l.lock)
	if type(ttl) == 'table' then return fault(ttl, l.lock) end
	local mine = false
	if ttl ~= -2 then
		local found = call('HMGET', l.lock, me or engine, 'mode')
		if found.err then return fault(found, l.lock) end
		if found[2] then return foreign() end
		mine = found[1]
	end
	if head then purge(l, now, engine, place ~= 'TRY' and tonumber(id)) end
	local unqueued = ttl == -2 and me and not at(l, 0)
	if n > 0 or me and place == 'OLD' or not me and at(l, 0) then
		if not (unqueued and n == 1 and place == 'NEW') then
			local refused = live(l) or join(l, n, first, (unqueued or mine) and me)
			if refused then return refused end
		end
		if me and place == 'OLD' and not mine and not deadlineOf(l, me) then goBack(l, me) end
		freshen(l)
	end
	if mine then
		if not at(l, 0) then forget(l) end -- the call has come twice, and the queue is empty
		return prolong(l.lock, lease) or 1
	end
	if l.fault then return l.fault end -- the order of the queue cannot be told
	if not me then return 0 end
	if ttl ~= -2 then
		wakeNew(l, head, me, how, ARGV[arg + 5])
		return refuse(l, me, code, lease, ttl)
	end
	local first = not unqueued and at(l, 0)
	-- A later waiter of this engine may stand before its first, which had the lock and lost it while the answer was under way. The
	-- engine asks only for its first waiter, so it is the first's turn.
	if first and first ~= me and place ~= 'TRY' and engineOf(first) == engine and goBack(l, me) then first = me end
	if not first or first == me then
		if code ~= '0' then drop(l.claims, me) end
		return take(l, now, me, lease)
	end
	-- A waiter of Redisson that gives up right after it was woken wakes nobody else, so the next waiter of Redisson sleeps beside a free
	-- lock. Engines behind it ask now and then, and wake it. A head that is new by the purge is woken, too.
	if place == 'OLD' and not lifeOf(l, first) or first ~= head then wake(l, first, how, ARGV[arg + 5]) end
	local left = turn(l, first)
	return l.fault or refuse(l, me, code, lease, left)
end)
