-- swap.lua: pass mutexes from one owner id of this engine to a fresh one with another lease, without freeing them in between.
-- invariant: handoff-keeps-lease
-- KEYS[i]                                      lock
-- ARGV[1]                                      PUBLISH, SPUBLISH or BOTH
-- ARGV[4i-2], ARGV[4i-1], ARGV[4i], ARGV[4i+1] old owner, fresh owner, lease in ms, channel
-- reply per name: subscribers of the channel, >= 0, the fresh owner has it; -1 the old owner does not have it any more; a fault
local KEYS, ARGV = KEYS, ARGV
return each(#KEYS, function(i)
	local lock, old, fresh, lease = KEYS[i], ARGV[4 * i - 2], ARGV[4 * i - 1], ARGV[4 * i]
	local found = call('HMGET', lock, old, fresh)
	if found.err then return lostor(found, lock) end
	if not found[1] then -- asked again after a lost answer, or lost
		if not found[2] then return -1 end
		return prolong(lock, lease) or listeners(ARGV[1], ARGV[4 * i + 1])
	end
	return pass(lock, old, found[1], fresh, lease) or listeners(ARGV[1], ARGV[4 * i + 1])
end)
