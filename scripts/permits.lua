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

-- over is how many are held whose time is over.
local function over(held, now)
	local first = call('ZRANGE', held, 0, 0, 'WITHSCORES')
	if not first[2] or tonumber(first[2]) > now then return 0 end
	return #call('ZRANGE', held, '-inf', string.format('%.0f', now), 'BYSCORE')
end

-- reclaim frees the permits whose time is over, and wakes who waits for them.
local function reclaim(key, held, how, channel, now)
	local over = call('ZREMRANGEBYSCORE', held, '-inf', string.format('%.0f', now))
	if type(over) == 'table' then return fault(over, held) end
	if over == 0 then return nil end
	local free = call('INCRBY', key, over)
	if type(free) == 'table' then return fault(free, key) end
	if free > 0 then publish(how, channel, string.format('%.0f', free)) end
end
