-- claim.lua: claims to fair locks. It is put between prelude.lua and the scripts of fair locks.
--
-- An engine that is refused a lock leaves a claim in a hash beside the lock. The field is the engine's uuid, the value is
-- "<owner> <code> <ends> <since>", with ends in ms and since in microseconds. If the head of the queue has a claim that has not ended, a
-- release makes that owner the owner of the lock until the claim ends, and publishes the code, which proves it to the engine. The result is
-- the same as if the owner's last acquire, which was refused, had taken the lock with its lease, of CLAIM at most.
local CLAIM = 10000 -- ms from the acquire on at most (gate.giftTime)
local LEAST = 1000 -- ms: a lock is not given to a claim that ends sooner
local MOST = 32 -- claims to one lock; further engines are woken, and ask
local CLAIMED = -8796093022208 -- -(2^43)
local GIVEN = 1125899906842625 -- 2^50 + 1

-- read parses a claim; nil if it is none.
local function read(claim)
	local owner, number, code, ends, since = string.match(claim or '', '^(%S+:(%d+)) (%d+) (%d+) (%d+)$')
	if not owner then return nil end
	return { owner = owner, number = tonumber(number), code = code, ends = tonumber(ends), since = tonumber(since) }
end

-- stands reports whether a lock may be given to a claim. A claim that ends later than in CLAIM is from before the clock was put back.
local function stands(claim, now)
	local left = claim.ends - now
	return left >= LEAST and left <= CLAIM
end

local function engineOf(owner)
	return string.match(owner, '^(.*):') or owner
end

-- claimOf returns the claim of an engine, or nil. A key of another type has none.
local function claimOf(claims, engine)
	local found = call('HGET', claims, engine)
	return type(found) == 'string' and read(found) or nil
end

-- drop removes the claim of an owner.
local function drop(claims, owner)
	local engine = engineOf(owner)
	local claim = claimOf(claims, engine)
	if claim and claim.owner == owner then
		call('HDEL', claims, engine) -- unchecked: an engine that is given the lock in vain gives it back
	end
end

-- room reports whether one more claim fits. If not, it removes claims that have ended: the key of a name that is always wanted never
-- expires, so claims of dead engines stay in it.
local function room(claims, now)
	local n = call('HLEN', claims)
	if type(n) == 'table' then return false end
	if n <= MOST then return true end
	local all = call('HGETALL', claims)
	for k = 1, all.err and 0 or #all, 2 do
		local claim = read(all[k + 1])
		if claim and (claim.ends <= now or claim.ends > now + CLAIM) and call('HDEL', claims, all[k]) == 1 then n = n - 1 end
	end
	return n <= MOST
end

-- claim leaves a claim, or extends the one that stands, and reports whether it has. An engine without a claim is woken, and asks. A claim of
-- a later owner of the same engine is kept: then this call is a late copy.
local function claim(claims, owner, code, lease, micros)
	local engine, now = engineOf(owner), math.floor(micros / 1000)
	local before = claimOf(claims, engine)
	if before and before.number > tonumber(string.match(owner, '%d+$')) then return false end
	if not before and not room(claims, now) then return false end
	local since = before and before.owner == owner and before.ends > now and before.since or micros
	local left = call('HSET', claims, engine, string.format('%s %s %.0f %.0f', owner, code or '', now + math.min(CLAIM, lease), since))
	if type(left) == 'table' then return false end
	if call('PEXPIRE', claims, CLAIM) == 1 then return true end
	call('HDEL', claims, engine) -- unchecked: as in drop
	return false
end
