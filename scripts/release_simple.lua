-- release_simple.lua: free simple locks, strings with the owner as their value, and give them to their lines (line.lua); also of a foreign owner by
-- its value (force-unlock). Others hear nothing of it: they poll. By VERB release_simple_from_line the owner's place in line is given up besides.
--                 release_simple                     release_simple_from_line
-- KEYS per name   lock, its line or the lock again   the same
-- ARGV first      publish                            publish
-- ARGV per name   owner, channel, turn               owner, channel, turn, code of its place
-- publish is PUBLISH, SPUBLISH or BOTH; turn is how long engines keep the lock between two pauses for others, in ms.
-- reply per name: 0, and a PLACE for each that stands in line; GIVEN to the line; -1 not this owner's; a fault
local leaves, n = VERB == 'release_simple_from_line', #KEYS / 2
local lined = not none(KEYS, 2, 2)

if not lined and not leaves then -- as most are: all are freed by one command
	local mine, replies = {}, {}
	for i = 1, n do
		local lock = KEYS[2 * i - 1]
		replies[i] = missing(lock, ARGV[3 * i - 1])
		if not replies[i] then mine[#mine + 1] = lock end
	end
	local freed = #mine == 0 and 0 or call('DEL', unpack(mine))
	return each(n, function(i)
		return replies[i] or freed ~= #mine and fault(freed, KEYS[2 * i - 1]) or 0
	end)
end

return each(n, function(i, there)
	local lock, line, at = KEYS[2 * i - 1], lined and KEYS[2 * i], (leaves and 4 or 3) * (i - 1) + 2
	local owner, channel, turn, code = ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3]
	if line == lock then line = nil end
	local reply, left = missing(lock, owner), line and leaves and leave(line, owner, code, ARGV[1], channel)
	if reply then return type(left) == 'table' and lostor(left, line) or reply end -- nothing else here is a write
	local freed = call('DEL', lock)
	if freed ~= 1 then return fault(freed, lock) end
	if there == 1 then line = nil end -- the one key was the lock
	return line and giveOrFree(lock, line, ARGV[1], channel, owner, nil, tonumber(turn)) or 0
end)
