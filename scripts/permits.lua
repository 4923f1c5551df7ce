-- permits.lua: permits that expire. It is put before their scripts. Redisson keeps held permits in a sorted set of 16-byte ids, scored by
-- the server's time in ms at which they end, beside the number of free permits. An id of an engine is 8 bytes of the engine and 8 of a
-- growing number.

-- permit returns the id of an engine's permit with this number.
local function permit(engine, number)
	local tail = {}
	for at = 8, 1, -1 do
		tail[at] = string.char(number % 256)
		number = math.floor(number / 256)
	end
	return engine .. table.concat(tail)
end

-- ids returns the n ids of a hold, from the number first on.
local function ids(engine, first, n)
	local all = {}
	for at = 1, tonumber(n) do all[at] = permit(engine, tonumber(first) + at - 1) end
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
