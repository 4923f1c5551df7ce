-- fair.lua: the queue of a fair lock. It is put between claim.lua and the scripts of fair locks.
-- invariant: fair-queue-order
--
-- The queue and its deadlines are Redisson's: a list with the order, and a sorted set with the time until which each waiter counts as
-- alive. Redisson purges only the head. So in a queue of engines only the head and the tail (Redisson computes the deadline of the next
-- waiter from the tail's) need a deadline in the future; both are moved when they get old. A waiter of an engine is alive as long as its
-- engine: the key alive has that time for each engine.
local WAIT = 300000 -- ms for which Redisson counts a waiter as alive
local KEEP = 2 * WAIT -- ms that the time of a dead engine is kept: by then the deadlines of its waiters are over, too
local PURGED = 100 -- the most dead waiters that one call removes

local function line(i)
	local k = 5 * i
	return { lock = KEYS[k - 4], queue = KEYS[k - 3], deadlines = KEYS[k - 2], alive = KEYS[k - 1], claims = KEYS[k] }
end

-- ask runs a command on the queue's keys. A refused command answers nil and leaves its fault in l.fault; the script goes on. The queue only
-- decides the order: without it the lock is still exclusive, because only its own key says whether it is free.
local function ask(l, command, key, ...)
	local reply = call(command, key, ...)
	if type(reply) == 'table' and reply.err then
		l.fault = fault(reply, key)
		return nil
	end
	return reply
end

local function at(l, place)
	return ask(l, 'LINDEX', l.queue, place)
end

-- deadlineOf returns the deadline of a waiter, or nil.
local function deadlineOf(l, owner)
	return tonumber(ask(l, 'ZSCORE', l.deadlines, owner))
end

-- lifeOf returns the time until which the engine of a waiter is alive; nil for a waiter of Redisson.
local function lifeOf(l, owner)
	return tonumber(ask(l, 'ZSCORE', l.alive, engineOf(owner)))
end

-- forget removes the times of all engines. Unlike DEL it leaves a key of another type alone.
local function forget(l)
	ask(l, 'ZREMRANGEBYSCORE', l.alive, '-inf', '+inf')
end

-- setDeadline and shift change deadlines of waiters in the queue. If that is refused, Redisson may remove a waiter too early, which then joins
-- again, or too late.
local function setDeadline(l, owner, deadline)
	ask(l, 'ZADD', l.deadlines, 'XX', string.format('%.0f', deadline), owner)
end

local function shift(l, from, by)
	if by == 0 then return end
	local distance = string.format('%.0f', by)
	for _, owner in ipairs(ask(l, 'LRANGE', l.queue, from, -1) or {}) do
		ask(l, 'ZADD', l.deadlines, 'XX', 'INCR', distance, owner)
	end
end

-- lift moves the deadline of the head, a waiter of an engine, into the future. Deadlines of Redisson's waiters behind it were computed from it,
-- so they are moved by the same time.
local function lift(l, now, head, deadline)
	if deadline and deadline >= now + WAIT / 2 then return end
	local second = at(l, 1)
	if deadline and second and not lifeOf(l, second) then
		shift(l, 0, now + WAIT - deadline)
	else
		setDeadline(l, head, now + WAIT)
	end
end

-- advance gives the new head its deadline after a head of an engine, with deadline old, has left. A waiter of Redisson gets what Redisson
-- would give it: its own wait, from now or from the end of the present lease; the waiters behind it keep their distance. Besides, only lift
-- and goBack look at all waiters, if the second is Redisson's.
local function advance(l, now, old)
	local head = at(l, 0)
	if not head then
		forget(l)
		return
	end
	local deadline, life = deadlineOf(l, head), lifeOf(l, head)
	if life then
		if life > now then lift(l, now, head, deadline) end
	elseif deadline then
		local wait = old and deadline - old or WAIT
		if wait <= 0 then
			if deadline <= now then return end -- a waiter of an engine that died so long ago that alive has forgotten it
			wait = WAIT
		end
		local lease = ask(l, 'PTTL', l.lock) or 0
		shift(l, 0, now + math.max(lease, 0) + wait - deadline)
	end
end

-- pop removes the head, and reports whether it has.
local function pop(l, now, head, life)
	local old = deadlineOf(l, head)
	if not ask(l, 'LPOP', l.queue) then return false end
	ask(l, 'ZREM', l.deadlines, head)
	if life then advance(l, now, old) end
	return true
end

-- isLeft reports whether a place was given up by its engine: the waiters of an engine stand in the order of their numbers, so those before
-- its first waiter have left.
local function isLeft(owner, engine, first)
	return first and engineOf(owner) == engine and tonumber(string.match(owner, '%d+$') or first) < first
end

-- purge removes dead waiters from the head: those of a dead engine, those that the engine has given up (isLeft), and those of Redisson with
-- a deadline in the past.
local function purge(l, now, engine, first)
	for _ = 1, PURGED do
		local head = at(l, 0)
		if not head then return end
		local life = lifeOf(l, head)
		local ends = life or deadlineOf(l, head)
		if (not ends or ends > now) and not isLeft(head, engine, first) then return end
		if not pop(l, now, head, life) then return end
	end
end

-- leave removes a waiter of an engine, wherever it stands. Deadlines of Redisson's waiters that were computed from its own move forward.
local function leave(l, now, owner)
	if at(l, 0) == owner then return pop(l, now, owner, now) end
	local deadline = deadlineOf(l, owner)
	local place = ask(l, 'LPOS', l.queue, owner)
	if place then
		local before = at(l, place - 1)
		local from = deadline and not lifeOf(l, before) and deadlineOf(l, before)
		if from and deadline > from then shift(l, place + 1, from - deadline) end
		if not ask(l, 'LREM', l.queue, 1, owner) then return end
	end
	ask(l, 'ZREM', l.deadlines, owner)
end

-- take makes an owner, the head of the queue or the only one that wants the lock, the owner of a free lock. It answers 1, or the fault by
-- which Redis refused; then the lock is still free.
local function take(l, now, owner, lease)
	local reply = call('HSET', l.lock, owner, '1')
	if reply ~= 1 then return fault(reply, l.lock) end
	local refused = bound(l.lock, lease, owner)
	if refused then return refused end
	if at(l, 0) == owner then pop(l, now, owner, now) end -- unchecked: refused only without the right to LPOP, and the place ends with its engine
	return 1
end

-- give gives a free lock to the head if it has a claim (claim.lua), and answers how many subscribers received the code. nil: the lock is still
-- free, and the head stands. Claims do not change the order. Without a subscriber at this node no code is published: the engine may listen at
-- another node of the cluster.
local function give(l, now, head, how, channel)
	local its = claimOf(l.claims, engineOf(head))
	if not its or its.owner ~= head or not stands(its, now) or listeners(how, channel .. ':' .. head) == 0 then return nil end
	if call('HSET', l.lock, head, '1') ~= 1 then return nil end
	if bound(l.lock, string.format('%.0f', its.ends - now), head) then return nil end
	local heard = publishCode(how, channel .. ':' .. head, its.code)
	if not heard then
		call('HDEL', l.lock, head) -- unchecked: the code was not published, and the lease is CLAIM at most
		return nil
	end
	drop(l.claims, head)
	pop(l, now, head, now) -- unchecked: as in take
	return heard
end

-- wake tells the head that the lock is free, and answers how many subscribers heard it. If the queue is empty it removes the key alive, which
-- Redisson does not know.
local function wake(l, head, how, channel)
	if not head then
		forget(l)
		return 0
	end
	return publish(how, channel .. ':' .. head, '0')
end

-- wakeNew wakes the head if it was another one before, unless it asks at this moment (me). The lock is taken: the new head learns for how long. The
-- one before was told when the lock was detached, which ends without a release.
local function wakeNew(l, before, me, how, channel)
	local head = at(l, 0)
	if before and head and head ~= before and head ~= me then wake(l, head, how, channel) end
end
