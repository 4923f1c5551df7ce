-- release_simple.lua: free simple locks, strings whose value is the owner, and give them to their lines (line.lua); also of a foreign owner by
-- its value (force-unlock). Others hear nothing of it: they poll. By VERB release_simple_from_line the owner's place in line is given up besides.
--                 release_simple                     release_simple_from_line
-- KEYS per name   lock, its line or the lock again   the same
-- ARGV first      publish                            publish
-- ARGV per name   owner, channel, turn               owner, channel, turn, code of its place
-- publish is PUBLISH, SPUBLISH or BOTH; turn is how long engines keep the lock between two pauses for others, in ms.
-- reply per name: 0, or 1 if the first in line is to ask at once, and a PLACE for each that stands in line; GIVEN to the line; -1 not this owner's; a fault
local leaves, n = VERB == 'release_simple_from_line', #KEYS / 2
local lined, mine = not none(KEYS, 2, 2), {}

-- of says whether an owner has a lock: 0, or the reply if not.
local function of(lock, owner)
	local found = call('GET', lock)
	return found == owner and 0 or type(found) == 'table' and lostor(found, lock) or -1
end

if not lined and not leaves then -- as most are: all are freed by one command
	local replies, alike = {}, true
	for i = 1, n do
		local lock = KEYS[2 * i - 1]
		replies[i] = of(lock, ARGV[3 * i - 1])
		if replies[i] == 0 then mine[#mine + 1] = lock end
		alike = alike and replies[i] == replies[1]
	end
	local freed = #mine == 0 and 0 or call('DEL', unpack(mine))
	for i = 1, freed == #mine and 0 or n do
		if replies[i] == 0 then replies[i] = fault(freed, KEYS[2 * i - 1]) end
	end
	return (alike or n == 1) and replies[1] or replies
end

return each(n, function(i, there)
	local lock, line, at = KEYS[2 * i - 1], lined and KEYS[2 * i], (leaves and 4 or 3) * (i - 1) + 2
	local owner, channel, turn, code = ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3]
	if line == lock then line = nil end
	local reply = of(lock, owner)
	if line and leaves then leave(line, owner, code, ARGV[1], channel) end
	if reply ~= 0 then return reply end
	local freed = call('DEL', lock)
	if freed ~= 1 then return fault(freed, lock) end
	if there == 1 then line = nil end -- it was the lock
	return line and handOver(lock, line, ARGV[1], channel, owner, nil, tonumber(turn)) or 0
end)
