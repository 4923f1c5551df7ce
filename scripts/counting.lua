-- counting.lua: what the scripts of names without owners in Redis share: semaphores, latches and permits that expire.
-- invariant: change-has-one-effect
-- Calls have growing numbers. Each leaves a receipt, "<number>:<answer>", in one key per name and engine. The engine settles a
-- call on a name before it makes the next. So a call that finds a receipt with a higher number is a late duplicate, and nobody reads its
-- answer.
--
-- Redisson keeps held permits in a sorted set of 16-byte ids, scored by the server's time in ms at which they end, beside the number of free
-- permits (permit_id.lua).
local RECEIPT = '60000' -- ms; the engine asks again for at most 50 s. Redis takes 1.5 us to read a number that is no string

-- earlier returns the answer that this call was given when it ran before; nil if it did not.
local function earlier(receipt, number)
	local found = call('GET', receipt)
	if not found then return nil end
	if type(found) == 'table' then return fault(found, receipt) end
	local last, answer = string.match(found, '^(%d+):(%-?%d+)$')
	if not last or tonumber(last) < tonumber(number) then return nil end
	if last == number then return tonumber(answer) end
	return 0
end

-- note writes the receipt, if there is to be one, and answers the fault if that is refused.
local function note(receipt, number, answer)
	if not receipt then return nil end
	local reply = call('SET', receipt, number .. ':' .. string.format('%.0f', answer), 'PX', RECEIPT)
	if reply.err then return fault(reply, receipt) end
end

-- mayGrow makes Redis allow all writes of the script at maxmemory: Redis decides at the first write, and this one is allowed.
local function mayGrow(receipt)
	call('PEXPIRE', receipt, RECEIPT) -- unchecked: if it is refused, so are the writes that count
end

-- number returns the number of a counter, 0 if there is none, and whether there is one; nil and a fault if the key is something else, or the
-- number is one that Lua cannot count with.
local function number(key)
	local found = call('GET', key)
	if not found then return 0, false end
	if type(found) == 'table' then return nil, fault(found, key) end
	if not string.match(found, '^%-?%d+$') then return nil, FAULT - 17 end -- a string that is no counter
	local n = tonumber(found)
	if math.abs(n) >= EXACT then return nil, RANGE end
	return n, true
end

-- noted puts an unexpected answer into the receipt, and returns it.
local function noted(receipt, id, code)
	note(receipt, id, code) -- unchecked: the receipt before it was not refused
	return code
end

-- once writes a receipt with the expected answer and runs step, the one command that changes the name. If step is refused, the receipt gets
-- the fault. after, if any, runs last; its answer is returned in place of the expected one.
local function once(receipt, id, expected, step, after)
	local refused = note(receipt, id, expected)
	if refused then return refused end
	local reply = step()
	if type(reply) == 'table' and reply.err then
		return noted(receipt, id, fault(reply, receipt))
	end
	if after then return after(reply) end
	return expected
end

-- ids returns the n ids of a hold, from the number first on.
local function ids(engine, first, n)
	local all = {}
	for at = 1, tonumber(n) do all[at] = idOf(engine, first + at - 1) end
	return all
end

-- over returns the held permits that have ended, ids and scores in turn; nil and a fault if Redis refuses.
local function over(held, now)
	local ended = call('ZRANGE', held, '-inf', string.format('%.0f', now), 'BYSCORE', 'WITHSCORES')
	if ended.err then return nil, fault(ended, held) end
	return ended
end

-- putBack undoes the removal of held permits, ids and scores in turn. If that is refused, the permits are lost; none are made.
local function putBack(held, removed)
	for at = 1, #removed, 2 do
		call('ZADD', held, removed[at + 1], removed[at]) -- unchecked: the answer is the fault in any case
	end
end

-- reclaim frees the held permits that have ended, and wakes the waiters.
local function reclaim(key, held, how, channel, now)
	local ended, bad = over(held, now)
	if not ended then return bad end
	if #ended == 0 then return nil end
	local gone = call('ZREMRANGEBYSCORE', held, '-inf', string.format('%.0f', now)) -- first: a write that Redis allows at maxmemory
	if type(gone) == 'table' then return fault(gone, held) end
	local free = call('INCRBY', key, gone)
	if type(free) == 'table' then
		putBack(held, ended)
		return fault(free, key)
	end
	if free > 0 then publish(how, channel, string.format('%.0f', free)) end
end

-- extend makes a permit, which ends at score, last until ends, and at least a millisecond longer: an equal score would be no write, and a
-- WAIT that follows covers only what its connection has written. It answers a fault.
local function extend(held, one, score, ends)
	local reply = call('ZADD', held, 'XX', string.format('%.0f', math.max(ends, tonumber(score) + 1)), one)
	if type(reply) == 'table' then return fault(reply, held) end
end
