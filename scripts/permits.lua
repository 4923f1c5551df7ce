-- permits.lua: goes before the scripts of permits that expire. Redisson keeps them in a sorted set of 16-byte ids by the time they
-- end, in ms, beside the number of permits that are free. Times are the server's. The ids of a hold of ours are 8 bytes of the engine
-- and 8 of a number that grows.
local function permit(engine, number)
	local tail = {}
	for at = 8, 1, -1 do
		tail[at] = string.char(number % 256)
		number = math.floor(number / 256)
	end
	return engine .. table.concat(tail)
end

-- each id of a hold, the first of which has this number
local function ids(engine, first, n)
	local all = {}
	for at = 1, tonumber(n) do all[at] = permit(engine, tonumber(first) + at - 1) end
	return all
end

-- over is those that are held beyond their time, id and score in turn; nil and a fault when Redis refuses to tell.
local function over(held, now)
	local ended = call('ZRANGE', held, '-inf', string.format('%.0f', now), 'BYSCORE', 'WITHSCORES')
	if ended.err then return nil, fault(ended, held) end
	return ended
end

-- putBack undoes the removal of held permits, which are id and score in turn. Where that is refused, too, permits are lost and
-- none are made.
local function putBack(held, removed)
	for at = 1, #removed, 2 do
		call('ZADD', held, removed[at + 1], removed[at]) -- unchecked: the answer is the fault in any case
	end
end

-- reclaim frees the permits that are held beyond their time, and wakes the waiters.
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

-- extend makes a permit, which ends at score, last until ends at least, and a millisecond longer in any case: an equal score
-- would be no write, and a WAIT that follows covers only what its connection has written. It answers a fault.
local function extend(held, one, score, ends)
	local reply = call('ZADD', held, 'XX', string.format('%.0f', math.max(ends, tonumber(score) + 1)), one)
	if type(reply) == 'table' then return fault(reply, held) end
end
