-- permit_one.lua: what most calls on permits do, as one.lua: nobody stands in line, and a caller takes one permit that is free, or a hold gives one
-- back. It stands before everything else in its scripts but permit_id.lua. done tells the names for which that is all; for the others the rest of the script finds
-- everything as it was: what was written here is taken back first.
local call, RECEIPT, IDLE = redis.pcall, '60000', 86400000 -- see counting.lua and permits.lua
local time, bound = redis.call('TIME'), ARGV[2] + 0 -- TIME raises: it is before the first write
local now, lines, lined, done = time[1] * 1000 + math.floor(time[2] / 1000), {}, true, {}
if #KEYS > 1 and ARGV[1] ~= 'BOTH' and (bound == 0 or now <= bound) then
	local unwanted = {}
	for i = 1, #KEYS / 4 do lines[i], unwanted[2 * i - 1], unwanted[2 * i] = KEYS[4 * i], KEYS[4 * i], KEYS[4 * i - 1] end
	lined = call('EXISTS', unpack(unwanted)) ~= 0
end

-- outlast keeps the held permits from ending with the number of a limit, and has them end with any other number that ends.
local function outlast(key, held, limit)
	local life = call('PTTL', key)
	if type(life) ~= 'number' or life <= 0 then return end
	if not limit then
		call('PEXPIRE', held, life) -- unchecked: without it they end by their leases
	elseif life < IDLE / 2 then
		call('PEXPIRE', key, IDLE) -- unchecked: then the number is made anew
		call('PEXPIRE', held, 4398046511104) -- unchecked: the next such call does it. 139 years
	end
end

if VERB == 'permit_take' then
	local ends = {} -- by the lease, as Redis is told
	local function takes(key, held, id, callers)
		local lease, limit = string.match(callers, '^1x1x(%d+),/?(%d*)$')
		local free = lease and tonumber(call('GET', key))
		if not free or free < 1 or limit ~= '' and call('ZCARD', held) ~= limit - free then return false end
		ends[lease] = ends[lease] or string.format('%.0f', now + lease)
		if type(call('DECRBY', key, '1')) ~= 'number' then return false end
		if call('ZADD', held, ends[lease], idOf(ARGV[3], id)) ~= 1 then
			call('INCRBY', key, '1') -- unchecked: it was allowed just now
			return false
		end
		outlast(key, held, limit ~= '')
		return true
	end
	for i = 1, #lines do
		local a = 6 * i - 1
		if ARGV[a + 1] == '0' and ARGV[a + 3] == '0' and (not lined or call('EXISTS', KEYS[4 * i - 1], KEYS[4 * i]) == 0) then
			done[i] = takes(KEYS[4 * i - 3], KEYS[4 * i - 2], ARGV[a], ARGV[a + 2])
		end
	end
end
if VERB == 'permit_free' then
	local function frees(key, held, holds, channel)
		local first = string.match(holds, '^([1-9]%d*),1,%d+;$')
		local one = first and idOf(ARGV[3], first)
		if not one or call('ZREM', held, one) ~= 1 then return false end
		local free = call('INCRBY', key, '1')
		if type(free) == 'number' and math.abs(free) < 9007199254740992 then
			local message = string.format('%.0f', free)
			if ARGV[1] == 'PUBLISH' then call('PUBLISH', channel, message) else call('SPUBLISH', channel, message) end -- unchecked: it is a hint
			return true
		end
		if type(free) == 'number' then call('DECRBY', key, '1') end -- unchecked: it was allowed just now
		call('ZADD', held, string.format('%.0f', now + RECEIPT), one) -- unchecked: the rest of the script tells of the fault
		return false
	end
	for i = 1, #lines do
		if not lined or call('EXISTS', lines[i]) == 0 then
			done[i] = frees(KEYS[4 * i - 3], KEYS[4 * i - 2], ARGV[4 * i + 1], ARGV[4 * i + 3])
		end
	end
end
local all = #lines > 0
for i = 1, #lines do all = all and done[i] end
if all then return 1 end
