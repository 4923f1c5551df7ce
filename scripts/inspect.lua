-- inspect.lua: what stands in Redis for one name.
-- KEYS[1] lock   KEYS[2] fencing counter, where the kind has one
-- reply {code, pttl, token, field, value, ...}: code 0, or a fault; pttl -2 when free; token 0 when there is none
local lock = KEYS[1]
local fields = call('HGETALL', lock)
if fields.err then return { fault(fields, lock), 0, 0 } end
local ttl = call('PTTL', lock)
if type(ttl) == 'table' then return { fault(ttl, lock), 0, 0 } end
local token = KEYS[2] and call('GET', KEYS[2]) or nil
local reply = { 0, ttl, type(token) == 'string' and tonumber(token) or 0 }
for _, part in ipairs(fields) do reply[#reply + 1] = part end
return reply
