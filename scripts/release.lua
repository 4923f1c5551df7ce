-- release.lua: free mutexes if this owner has them, and give them to their lines (line.lua) or wake their waiters. Force-unlock does that for
-- the id of another owner. VERB release_from_line also gives up the owner's place in line.
--                 release                            release_from_line
-- KEYS per name   lock, its line or the lock again   the same
-- ARGV first      publish                            publish
-- ARGV per name   owner, channel                     owner, channel, code of its place
-- publish is PUBLISH, SPUBLISH or BOTH; for a lock without a line also NONE, to wake nobody.
-- reply per name: subscribers woken, >= 0, and a PLACE for each place in line; GIVEN to the line; -1 not this owner's;
--                 -2 freed, but this user may not publish; a fault
local how, leaves, n = ARGV[1], VERB == 'release_from_line', #KEYS / 2
local lined = how ~= 'NONE' and not none(KEYS, 2, 2)

return each(n, function(i, there)
	local lock, line, at = KEYS[2 * i - 1], lined and KEYS[2 * i], (leaves and 3 or 2) * (i - 1) + 1
	local owner, channel, code = ARGV[at + 1], ARGV[at + 2], ARGV[at + 3]
	if line == lock then line = nil end
	local freed = call('HDEL', lock, owner) -- a write that Redis allows at maxmemory; the key goes with its last field
	if line and leaves then leave(line, owner, code, how, channel) end
	if freed == 0 then return -1 end
	if freed ~= 1 then return lostor(freed, lock) end
	if there == 1 then line = nil end -- the one key was the lock
	return line and giveOrFree(lock, line, how, channel, owner, FREE) or publish(how, channel, '0')
end)
