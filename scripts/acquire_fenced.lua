-- acquire_fenced.lua: take fenced mutexes, each with a block of fencing tokens for its tenure.
-- KEYS[2i-1], KEYS[2i]       lock, fencing counter
-- ARGV[1], ARGV[2], ARGV[3]  notAfter (as acquire.lua), tokens in a block, ms after which an idle counter expires (0: never)
-- ARGV[2i+2], ARGV[2i+3]     owner, lease in ms
-- reply per name: the last token of the block, > 0; else as acquire.lua
--
-- invariant: tokens-grow
-- A block ends at the larger of previous + block and the server's time in microseconds. So tokens grow even
-- after the counter was lost, and stay below 2^53 until the year 2255. A repeated call under the same owner id gets a
-- fresh block: no caller has seen a token of the first.
local KEYS, ARGV = KEYS, ARGV
local time = redis.call('TIME') -- raises: before the first write, and then nothing can be done
local now, deadline = time[1] * 1000 + math.floor(time[2] / 1000), tonumber(ARGV[1])
if deadline > 0 and now > deadline then return LATE - now end
local micros, block, idle = time[1] * 1000000 + time[2], tonumber(ARGV[2]), tonumber(ARGV[3])

return each(#KEYS / 2, function(i)
	local lock, counter, owner, lease = KEYS[2 * i - 1], KEYS[2 * i], ARGV[2 * i + 2], ARGV[2 * i + 3]
	local ttl = call('PTTL', lock)
	if type(ttl) == 'table' then return fault(ttl, lock) end
	local mine = false
	if ttl ~= -2 then
		local found = call('HMGET', lock, owner, 'mode')
		if found.err then return fault(found, lock) end
		if found[2] then return foreign() end
		if not found[1] then return taken(ttl) end
		mine = true
	end
	local last = call('GET', counter)
	if type(last) == 'table' then return fault(last, counter) end
	local token = math.max((tonumber(last) or 0) + block, micros)
	if token >= EXACT then return RANGE end -- two tenures could get the same tokens
	local text = string.format('%.0f', token)
	local set = idle > 0 and call('SET', counter, text, 'PX', ARGV[3]) or call('SET', counter, text)
	if set.err then return fault(set, counter) end
	if mine then return prolong(lock, lease) or token end
	local reply = call('HSET', lock, owner, '1')
	if reply ~= 1 then return fault(reply, lock) end
	return bound(lock, lease, owner) or token
end)
