-- claim.lua: is put between prelude.lua and the scripts of fair locks, to which waiting engines have claims. What a claim is.
--
-- An engine that is refused a lock leaves a claim in a hash beside the lock: "<owner> <code> <ends> <since>" in a field that is
-- the engine's uuid; ends in ms, since in microseconds. A release gives the lock to the head of the queue if its claim stands,
-- until ends, and publishes the code, by which that engine knows that it has the lock. An owner has the lock from such a release
-- exactly as if its last acquire, which was refused, had taken the lock with a lease of CLAIM.
local CLAIM = 2000 -- ms from the acquire on (gate.giftTime)
local LEAST = CLAIM / 2 -- ms that must be left of a claim for a lock to be given to it
local MOST = 32 -- engines that have claims to one lock; the others are woken and ask
local CLAIMED = -8796093022208 -- -(2^43)
local GIVEN = 1125899906842625 -- 2^50 + 1

-- read takes a claim apart; nil: it is none.
local function read(claim)
	local owner, number, code, ends, since = string.match(claim or '', '^(%S+:(%d+)) (%d+) (%d+) (%d+)$')
	if not owner then return nil end
	return { owner = owner, number = tonumber(number), code = code, ends = tonumber(ends), since = tonumber(since) }
end

-- stands reports whether a lock may be given to a claim. One that stands for longer than CLAIM was left before the clock was put back.
local function stands(claim, now)
	local left = claim.ends - now
	return left >= LEAST and left <= CLAIM
end

local function engineOf(owner)
	return string.match(owner, '^(.*):') or owner
end

-- claimOf is what an engine claims; nil: nothing. A key of another type has no claims.
local function claimOf(claims, engine)
	local found = call('HGET', claims, engine)
	return type(found) == 'string' and read(found) or nil
end

-- drop takes the claim of an owner away.
local function drop(claims, owner)
	local engine = engineOf(owner)
	local claim = claimOf(claims, engine)
	if claim and claim.owner == owner then
		call('HDEL', claims, engine) -- unchecked: a claim that stands too long gives the lock to an engine that gives it back
	end
end

-- room reports whether there is room for one more claim. If there is none, those of engines that have died go: on a name that is
-- always wanted the key never expires.
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

-- claim leaves a claim, or has the one that stands last longer, and reports whether it has: a claim that was refused may stand as
-- it was. An engine without a claim is woken, and asks. A claim of a later owner of the same engine stays: then this call is a late copy.
local function claim(claims, owner, code, micros)
	local engine, now = engineOf(owner), math.floor(micros / 1000)
	local before = claimOf(claims, engine)
	if before and before.number > tonumber(string.match(owner, '%d+$')) then return false end
	if not before and not room(claims, now) then return false end
	local since = before and before.owner == owner and before.ends > now and before.since or micros
	local left = call('HSET', claims, engine, string.format('%s %s %.0f %.0f', owner, code or '', now + CLAIM, since))
	if type(left) == 'table' then return false end
	if call('PEXPIRE', claims, CLAIM) == 1 then return true end
	call('HDEL', claims, engine) -- unchecked: as in drop
	return false
end
