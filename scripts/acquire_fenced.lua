-- acquire_fenced.lua: take fenced mutexes, each with a block of fencing tokens for its tenure.
-- KEYS[2i-1], KEYS[2i]       lock, fencing counter
-- ARGV[1], ARGV[2], ARGV[3]  notAfter (as acquire.lua), tokens in a block, ms after which an idle counter expires (0: never)
-- ARGV[2i+2], ARGV[2i+3]     owner, lease in ms
-- reply per name: the last token of the block, > 0; else as acquire.lua
-- A repeated call under the same owner id gets a fresh block: no caller has seen a token of the first.
local KEYS, ARGV = KEYS, ARGV
local micros, deadline = microseconds(), tonumber(ARGV[1])
local now = math.floor(micros / 1000)
if deadline > 0 and now > deadline then return LATE - now end
local block, idle = tonumber(ARGV[2]), ARGV[3]

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
	local token = tokensof(counter, block, idle, micros)
	if token < 0 then return token end
	if mine then return prolong(lock, lease) or token end
	local reply = call('HSET', lock, owner, '1')
	if reply ~= 1 then return fault(reply, lock) end
	return bound(lock, lease, owner) or token
end)
