-- release.lua: free mutexes if this owner has them, and wake their waiters. By VERB release_claim a lock goes to the oldest claim
-- (claim.lua) instead, if there is one that it can be given to; and the claim of the owner itself is over. Also frees a foreign owner
-- by its id (force-unlock).
--                 release              release_claim
-- KEYS per name   lock                 lock, the claims to it: ours alone
-- ARGV first      publish              publish
-- ARGV per name   owner, channel       owner, channel, how many of its subscribers are this engine's
-- publish is PUBLISH, SPUBLISH or BOTH, of a plain release also NONE: nobody is woken.
-- reply per name: subscribers woken, >= 0; GIVEN + subscribers woken, when it was given to a claim; -1 not this owner's; -2 freed, but
--                 this user may not publish; a fault
local KEYS, ARGV = KEYS, ARGV
local how, gives = ARGV[1], VERB == 'release_claim'
local now = gives and clock()

return each(gives and #KEYS / 2 or #KEYS, function(i)
	local lock, owner, channel, claims = KEYS[i], ARGV[2 * i], ARGV[2 * i + 1], nil
	if gives then
		lock, claims, owner, channel = KEYS[2 * i - 1], KEYS[2 * i], ARGV[3 * i - 1], ARGV[3 * i]
	end
	local freed = call('HDEL', lock, owner) -- a write that Redis allows at maxmemory; the key goes with its last field
	if freed == 1 and not gives then return publish(how, channel, '0') end
	if freed == 0 then
		if gives then drop(claims, owner) end
		return -1
	end
	if freed ~= 1 then return lostor(freed, lock) end
	local heard = giveOldest(lock, claims, how, channel, tonumber(ARGV[3 * i + 1]), owner, now)
	if heard then return GIVEN + heard end
	return publish(how, channel, '0')
end)
