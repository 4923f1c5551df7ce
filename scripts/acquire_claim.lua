-- acquire_claim.lua: take mutexes, as acquire.lua does, or leave claims to those that others have (claim.lua).
-- invariant: late-acquire-does-nothing, reply-says-what-redis-holds
-- KEYS[2i-1], KEYS[2i]          lock; the claims to it: ours alone
-- ARGV[1]                       notAfter (as acquire.lua)
-- ARGV[3i-1], ARGV[3i], [3i+1]  owner, lease in ms, code of its claim
-- reply per name: as acquire.lua; CLAIMED - (pttl+2) held by another owner, and the claim stands for CLAIM from now
local KEYS, ARGV = KEYS, ARGV
local time = redis.call('TIME') -- raises: before the first write, and then nothing can be done
local micros = time[1] * 1000000 + time[2]
local now, deadline = math.floor(micros / 1000), tonumber(ARGV[1])
if deadline > 0 and now > deadline then return LATE - now end

local CLAIMED = -8796093022208 -- -(2^43)

-- claim leaves a claim, or has the one that stands last longer, and reports whether it has: a claim that was refused may stand as
-- it was. Who has none is woken, and asks. A claim of a later owner of the same engine stays: then this call is a late copy.
local function claim(claims, owner, code)
	local engine = engineOf(owner)
	local before = claimOf(claims, engine)
	if before and before.number > tonumber(string.match(owner, '%d+$')) then return false end
	if not before then
		local n = call('HLEN', claims)
		if type(n) == 'table' or n > MOST then return false end
	end
	local since = before and before.owner == owner and before.ends > now and before.since or micros
	local left = call('HSET', claims, engine, string.format('%s %s %.0f %.0f', owner, code or '', now + CLAIM, since))
	if type(left) == 'table' then return false end
	if call('PEXPIRE', claims, CLAIM) == 1 then return true end
	call('HDEL', claims, engine) -- unchecked: as in drop
	return false
end

return each(#KEYS / 2, function(i)
	local lock, claims, owner, lease = KEYS[2 * i - 1], KEYS[2 * i], ARGV[3 * i - 1], ARGV[3 * i]
	local ttl = call('PTTL', lock)
	if type(ttl) == 'table' then return fault(ttl, lock) end
	if ttl == -2 then
		local reply = call('HSET', lock, owner, '1')
		if reply ~= 1 then return fault(reply, lock) end
		local refused = bound(lock, lease, owner)
		if refused then return refused end
		drop(claims, owner)
		return 1
	end
	local found = call('HMGET', lock, owner, 'mode')
	if found.err then return fault(found, lock) end
	if found[2] then return foreign() end
	if not found[1] then
		return claim(claims, owner, ARGV[3 * i + 1]) and CLAIMED + taken(ttl) or taken(ttl)
	end
	local refused = prolong(lock, lease)
	if refused then return refused end
	drop(claims, owner)
	return 1
end)
