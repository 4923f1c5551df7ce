-- release_claim.lua: free mutexes if this owner has them, and give each to the oldest claim (claim.lua), or else wake the
-- waiters. The claim of the owner itself is over. Also frees a foreign owner by its id (force-unlock).
-- KEYS[2i-1], KEYS[2i]     lock; the claims to it: ours alone
-- ARGV[1]                  PUBLISH, SPUBLISH or BOTH
-- ARGV[3i-1], [3i], [3i+1] owner; channel; how many of its subscribers are this engine's
-- reply per name: GIVEN + subscribers woken, when it was given to a claim; else as release.lua
local KEYS, ARGV = KEYS, ARGV
local how, now = ARGV[1], clock()

local function older(a, b)
	if a.since ~= b.since then return a.since < b.since end
	return a.owner < b.owner
end

-- standing finds the oldest claim that has long enough to go, how many such claims there are, and since when the lock has been given
-- and not freed. The claim of the owner that has left is over: it drops that.
local function standing(key, left)
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
local function pass(lock, key, channel, claim)
	if call('HSET', lock, claim.owner, '1') ~= 1 then return nil end
	if bound(lock, string.format('%.0f', claim.ends - now), claim.owner) then return nil end
	call('HDEL', key, engineOf(claim.owner)) -- unchecked: as in drop
	local heard = publish(how, channel, claim.code)
	if heard >= 0 then return heard end
	if how == 'BOTH' then return 0 end -- who listens one way may have heard of it
	call('HDEL', lock, claim.owner) -- unchecked: nobody has heard of it, and its lease is short
	return nil
end

-- give passes a lock that its owner has left to the oldest claim. Not to anybody, once in a TURN; nor if others listen than this
-- engine and those that have claims: they may be of Redisson, and would wait for ever if engines gave the lock to each other. An
-- engine that has died since it claimed listens no more, and hides one of Redisson's in that count. To that one a 1 is published,
-- which has all waiters of Redisson ask: it learns that the lock is held for as long as the claim, and sleeps no longer.
local function give(lock, key, channel, own, left)
	local claim, count, began = standing(key, left)
	local listen = claim and listeners(how, channel) or 0
	local lasts = now - (began or now) -- less than 0: the clock was put back
	if listen > own and listen <= count + own and lasts >= 0 and lasts < TURN and call('EXISTS', lock) == 0 then
		if not began then
			call('HSET', key, 'began', string.format('%.0f', now)) -- unchecked: then the next one begins it
			began = now
		end -- before the claim goes: with its last field the key would go, and be made anew without a TTL
		local heard = pass(lock, key, channel, claim)
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

return each(#KEYS / 2, function(i)
	local lock, claims, owner, channel = KEYS[2 * i - 1], KEYS[2 * i], ARGV[3 * i - 1], ARGV[3 * i]
	local freed = call('HDEL', lock, owner) -- a write that Redis allows at maxmemory; the key goes with its last field
	if type(freed) == 'table' then return lostor(freed, lock) end
	if freed == 0 then
		drop(claims, owner)
		return -1
	end
	local heard = give(lock, claims, channel, tonumber(ARGV[3 * i + 1]), owner)
	if heard then return GIVEN + heard end
	return publish(how, channel, '0')
end)
