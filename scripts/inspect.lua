-- inspect.lua: what stands in Redis for one name. VERB inspect_simple: for a simple lock, as if it were a hash of one owner.
-- KEYS[1] lock   KEYS[2] fencing counter, where the kind has one
-- reply {code, pttl, token, field, value, ...}: code 0, or a fault; pttl -2 when free; token 0 when there is none
local lock = KEYS[1]
if VERB == 'inspect_simple' then
	local owner, ttl = call('GET', lock), call('PTTL', lock)
	if type(owner) == 'table' then return { fault(owner, lock), 0, 0 } end
	if type(ttl) == 'table' then return { fault(ttl, lock), 0, 0 } end
	if not owner then return { 0, -2, 0 } end
	if #owner > 1048576 then return { FAULT - 17, 0, 0 } end -- a string of another kind: an answer has a bound
	return { 0, math.min(ttl, 4398046511104), 0, owner, '1' }
end
local n = call('HLEN', lock)
if type(n) == 'table' then return { fault(n, lock), 0, 0 } end
if n > 65536 then return { foreign(), 0, 0 } end -- no lock has so many owners, and an answer has a bound
local fields = call('HGETALL', lock)
if fields.err then return { fault(fields, lock), 0, 0 } end
local size = 0
for _, part in ipairs(fields) do size = size + #part end
if size > 1048576 * 8 then return { foreign(), 0, 0 } end
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
