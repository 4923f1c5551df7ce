-- fair.lua: is put between claim.lua and the scripts of the fair lock. What a queue is, and which of its waiters live.
-- invariant: fair-queue-order
--
-- The queue and its deadlines are Redisson's: the list has the order, the sorted set until when each waiter counts as
-- alive. Redisson purges only the head. So in a queue with engines only, just the head and the tail (from which the next
-- waiter of Redisson's counts) need a deadline in the future; both are moved when they get old. A waiter of an engine
-- counts as alive while its engine does: the key alive has the time until which the engine said so.
local WAIT = 300000 -- ms that a waiter of an engine counts for Redisson, as one of its own does
local KEEP = 2 * WAIT -- ms after which it does not matter when an engine died: its deadlines are over, too
local PURGED = 100 -- dead waiters that one call removes

local function line(i)
	local k = 5 * i
	return { lock = KEYS[k - 4], queue = KEYS[k - 3], deadlines = KEYS[k - 2], alive = KEYS[k - 1], claims = KEYS[k] }
end

-- ask runs a command about a lock's queue. One that is refused answers nil and leaves its fault in l.fault: no
-- script ends half-way for it. The queue tells the next waiter, but only the lock's own key tells whether it is free: a
-- queue that cannot be kept costs the order, never the lock.
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

-- deadlineOf is the deadline of a waiter; nil: it has none.
local function deadlineOf(l, owner)
	return tonumber(ask(l, 'ZSCORE', l.deadlines, owner))
end

-- lifeOf is until when the engine of a waiter lives; nil: it is one of Redisson's.
local function lifeOf(l, owner)
	return tonumber(ask(l, 'ZSCORE', l.alive, engineOf(owner)))
end

-- forget removes the lives of all engines. It leaves a key of another type, which DEL would not.
local function forget(l)
	ask(l, 'ZREMRANGEBYSCORE', l.alive, '-inf', '+inf')
end

-- setDeadline and shift change deadlines of waiters that stand. One that is refused stays as it was: Redisson may then skip a
-- waiter too early, which joins again, or too late.
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

-- lift gives the head, a waiter of ours, a deadline that Redisson respects. One of Redisson's right behind it
-- counts from it, as do those behind that one: then all move together.
local function lift(l, now, head, deadline)
	if deadline and deadline >= now + WAIT / 2 then return end
	local second = at(l, 1)
	if deadline and second and not lifeOf(l, second) then
		shift(l, 0, now + WAIT - deadline)
	else
		setDeadline(l, head, now + WAIT)
	end
end

-- advance follows the leaving of a head of ours, which had an old deadline. One of Redisson's at the head now is
-- given what Redisson's arithmetic gives it: its own wait from now on, or from the end of the lease that runs;
-- those behind it keep their distance. That is the only step that looks at all waiters.
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
			if deadline <= now then return end -- it is of an engine of ours that died so long ago that alive does not know it any more
			wait = WAIT
		end
		local lease = ask(l, 'PTTL', l.lock) or 0
		shift(l, 0, now + math.max(lease, 0) + wait - deadline)
	end
end

-- pop takes the head out. False: it still stands.
local function pop(l, now, head, life)
	local old = deadlineOf(l, head)
	if not ask(l, 'LPOP', l.queue) then return false end
	ask(l, 'ZREM', l.deadlines, head)
	if life then advance(l, now, old) end
	return true
end

-- isLeft reports whether a place is one that its engine has given up: its waiters stand in the order of their
-- numbers, so those before its first one are.
local function isLeft(owner, engine, first)
	return first and engineOf(owner) == engine and tonumber(string.match(owner, '%d+$') or first) < first
end

-- purge takes the dead from the head: ours when their engine is, or when it says by the number of its first waiter
-- that it has given them up; Redisson's when their deadline is over.
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

-- leave takes a waiter of ours out, wherever it stands. Redisson's behind it that counted from it get no longer
-- for it.
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

-- take gives a free lock to the owner that is next: it is the head, or nobody waits. It answers 1, or the fault by which
-- Redis refused: then the lock is as free as it was.
local function take(l, now, owner, lease)
	local reply = call('HSET', l.lock, owner, '1')
	if reply ~= 1 then return fault(reply, l.lock) end
	local refused = bound(l.lock, lease, owner)
	if refused then return refused end
	if at(l, 0) == owner then pop(l, now, owner, now) end -- unchecked: refused only without the right to LPOP; the place ends with the life of its engine
	return 1
end

-- give gives a free lock to the head, if its claim stands (claim.lua), and answers how many heard of it; nil: the lock is as free as it
-- was, and the head stands. It gives it to nobody else: claims change no order. Where nobody hears the head's channel no code is
-- published: an engine may hear it at another node of a cluster.
local function give(l, now, head, how, channel)
	local its = claimOf(l.claims, engineOf(head))
	if not its or its.owner ~= head or not stands(its, now) or listeners(how, channel .. ':' .. head) == 0 then return nil end
	if call('HSET', l.lock, head, '1') ~= 1 then return nil end
	if bound(l.lock, string.format('%.0f', its.ends - now), head) then return nil end
	local heard = publishCode(how, channel .. ':' .. head, its.code)
	if not heard then
		call('HDEL', l.lock, head) -- unchecked: nobody has heard of it, and its lease is short
		return nil
	end
	drop(l.claims, head)
	pop(l, now, head, now) -- unchecked: as in take
	return heard
end

-- wake tells the head that the lock is free, and answers how many heard it. When Redisson's was the last to leave
-- the queue, our key is left.
local function wake(l, head, how, channel)
	if not head then
		forget(l)
		return 0
	end
	return publish(how, channel .. ':' .. head, '0')
end
