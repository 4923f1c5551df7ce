-- claim.lua: is put between prelude.lua and the scripts of locks to which waiting engines have claims. What a claim is.
--
-- An engine that is refused a lock leaves a claim in a hash beside the lock: "<owner> <code> <ends> <since>" in a field that is
-- the engine's uuid; ends in ms, since in microseconds. A release gives the lock to the owner of the oldest claim that stands,
-- until ends, and publishes the code, by which that engine knows that it has the lock. An owner has the lock from such a release
-- exactly as if its last acquire, which was refused, had taken the lock with a lease of CLAIM. The field began says since when
-- the lock has been given from owner to owner without being free, in ms.
local CLAIM = 2000 -- ms from the acquire on (gate.claimTime)
local LEAST = CLAIM / 2 -- ms that must be left of a claim for a lock to be given to it
local TURN = 100 -- ms; once in so long a lock is freed and not given: an engine that polls for it leaves no trace
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

local function older(a, b)
	if a.since ~= b.since then return a.since < b.since end
	return a.owner < b.owner
end

-- standing finds the oldest claim that has long enough to go, how many such claims there are, and since when the lock has been given
-- and not freed. The claim of the owner that has left is over: it drops that.
local function standing(key, now, left)
	local all = call('HGETALL', key) -- unchecked: an error has no fields
	local oldest, count, began = nil, 0, nil
	for k = 1, #all, 2 do
		local claim = read(all[k + 1])
		if claim and claim.owner == left then
			call('HDEL', key, all[k]) -- unchecked: as in drop
		elseif claim and stands(claim, now) then
			if not oldest or older(claim, oldest) then oldest = claim end
			count = count + 1
		elseif all[k] == 'began' then
			began = tonumber(all[k + 1])
		end
	end
	return oldest, count, began
end

-- pass takes a free lock for a claim, and answers how many heard of it; nil: the lock is as free as it was.
local function pass(lock, key, how, channel, claim, now)
	if call('HSET', lock, claim.owner, '1') ~= 1 then return nil end
	if bound(lock, string.format('%.0f', claim.ends - now), claim.owner) then return nil end
	call('HDEL', key, engineOf(claim.owner)) -- unchecked: as in drop
	local heard = publish(how, channel, claim.code)
	if heard >= 0 then return heard end
	if how == 'BOTH' then return 0 end -- a subscriber of one way may have heard of it
	call('HDEL', lock, claim.owner) -- unchecked: nobody has heard of it, and its lease is short
	return nil
end

-- giveOldest passes a lock that its owner has left to the oldest claim. Not to anybody, once in a TURN; nor if others listen than this
-- engine and those that have claims: they may be of Redisson, and would wait for ever if engines gave the lock to each other. An
-- engine that has died since it claimed listens no more, and hides one of Redisson's in that count. To that one a 1 is published,
-- which has all waiters of Redisson ask: it learns that the lock is held for as long as the claim, and sleeps no longer.
local function giveOldest(lock, key, how, channel, own, left, now)
	local claim, count, began = standing(key, now, left)
	local listen = claim and listeners(how, channel) or 0
	local lasts = now - (began or now) -- less than 0: the clock was put back
	if listen > own and listen <= count + own and lasts >= 0 and lasts < TURN and call('EXISTS', lock) == 0 then
		if not began then
			call('HSET', key, 'began', string.format('%.0f', now)) -- unchecked: then the next one begins it
			began = now
		end -- before the claim goes: with its last field the key would go, and be made anew without a TTL
		local heard = pass(lock, key, how, channel, claim, now)
		if heard then
			publish(how, channel, '1') -- unchecked: only a waiter of Redisson heeds it, which may be there in place of a dead engine
			return heard
		end
	end
	if began then
		call('HDEL', key, 'began') -- unchecked: then the lock is freed the next time, too
	end
	return nil
end
