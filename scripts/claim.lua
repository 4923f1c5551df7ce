-- claim.lua: is put between prelude.lua and the scripts of a lock whose waiting engines have claims. What a claim is.
--
-- An engine whose acquire is refused leaves a claim in a hash beside the lock: "<owner> <code> <ends> <since>" in a field that is
-- the engine's uuid; ends in ms, since in microseconds. A release gives the lock to the owner of the oldest claim that stands,
-- until ends, and publishes the code, by which that engine knows that it has the lock. An owner has the lock from such a release
-- exactly as if its last acquire, which was refused, had taken the lock with a lease of CLAIM. The field began says since when
-- the lock has been given from owner to owner without being free, in ms.
local CLAIM = 2000 -- ms from the acquire on (gate.claimTime)
local LEAST = CLAIM / 2 -- ms that must be left of a claim for a lock to be given to it
local TURN = 100 -- ms; once in so long a lock is freed and not given: whoever polls for it leaves no trace
local MOST = 32 -- engines that have claims to one lock; the others are woken and ask

-- read takes a claim apart; nil: it is none.
local function read(claim)
	local owner, number, code, ends, since = string.match(claim or '', '^(%S+:(%d+)) (%d+) (%d+) (%d+)$')
	if not owner then return nil end
	return { owner = owner, number = tonumber(number), code = code, ends = tonumber(ends), since = tonumber(since) }
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
