-- inspect.lua: what stands in Redis for locks. Each block is the script of a verb (compose.go).

if VERB == 'inspect' then
	-- inspect tells all of one lock, a hash.
	-- KEYS[1] lock   KEYS[2] fencing counter, where the kind has one
	-- reply {code, pttl, token, field, value, ...}: code 0, or a fault; pttl -2 when free; token 0 when there is none
	local lock = KEYS[1]
	local n = call('HLEN', lock)
	if type(n) == 'table' then return { fault(n, lock), 0, 0 } end
	if n > 65536 then return { foreign(), 0, 0 } end -- no lock has so many owners, and an answer has a bound
	local fields = call('HGETALL', lock)
	if fields.err then return { fault(fields, lock), 0, 0 } end
	local size = 0
	for _, part in ipairs(fields) do size = size + #part end
	if size > 4194304 then return { foreign(), 0, 0 } end -- an engine ends the connection at more (respguard.maxFrame)
	for _, part in ipairs(fields) do
		if #part > 4096 then return { foreign(), 0, 0 } end -- nor such an owner
	end
	local ttl = call('PTTL', lock)
	if type(ttl) == 'table' then return { fault(ttl, lock), 0, 0 } end
	local token = KEYS[2] and tonumber(call('GET', KEYS[2])) or 0
	if math.abs(token) >= EXACT then token = 0 end
	local reply = { 0, math.min(ttl, 4398046511104), token }
	for _, part in ipairs(fields) do reply[#reply + 1] = part end
	return reply
end

if VERB == 'inspect_simple' then
	-- inspect_simple tells the same of a simple lock, as if it were a hash of one owner.
	local lock = KEYS[1]
	local owner, ttl = call('GET', lock), call('PTTL', lock)
	if type(owner) == 'table' then return { fault(owner, lock), 0, 0 } end
	if type(ttl) == 'table' then return { fault(ttl, lock), 0, 0 } end
	if not owner then return { 0, -2, 0 } end
	if #owner > 1048576 then return { FAULT - 17, 0, 0 } end -- a string of another kind: an answer has a bound
	return { 0, math.min(ttl, 4398046511104), 0, owner, '1' }
end

if VERB == 'peek' then
	-- peek tells whether locks are free, strings or hashes.
	-- KEYS[i] lock
	-- reply per name: 0 free; -(pttl+2) somebody has it; a fault
	return each(#KEYS, function(i)
		local ttl = call('PTTL', KEYS[i])
		if type(ttl) == 'table' then return fault(ttl, KEYS[i]) end
		return ttl == -2 and 0 or taken(ttl)
	end)
end

if VERB == 'count_waiters' then
	-- count_waiters counts the waiters for locks: the subscribers of their channels and the places in their lines, or the queues of fair locks.
	-- KEYS[2i-1], KEYS[2i]  lock; the queue of a fair lock, the line of a mutex, else the lock again
	-- ARGV[1]               PUBLISH, SPUBLISH or BOTH
	-- ARGV[i+1]             channel; of a fair lock empty
	-- reply per name: how many subscribers, >= 0, and a PLACE for each place in line or in the queue; a fault
	return each(#KEYS / 2, function(i)
		local lock, other, channel = KEYS[2 * i - 1], KEYS[2 * i], ARGV[i + 1]
		if channel ~= '' then return listeners(ARGV[1], channel) + waiting(lock, other) end
		if other == lock then return 0 end
		local queued = call('LLEN', other)
		if type(queued) == 'table' then return fault(queued, other) end
		return PLACE * queued
	end)
end
