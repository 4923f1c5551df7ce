-- simple.lua: what is done to simple locks that are held, strings whose value is the owner. By VERB:
--   renew_simple    prolong them
--   confirm_simple  prolong those that are being handed on, and count the places in line
--   release_simple  free them and give them to their lines (line.lua); also a foreign owner by its value (force-unlock)
--   release_simple_from_line  the same; the owner's place in line is given up besides
--   adopt_simple    pass them to fresh owners of this engine
--   detach_simple   pass them to owners that no engine renews, and tell the first in line. One that was passed before is left as it is
-- invariant: late-acquire-does-nothing, detached-name-stays, reply-says-what-redis-holds
--                 renew    confirm        release                        adopt               detach
-- KEYS per name   lock     lock, line     lock, line                     lock                lock, line
-- ARGV first                              publish                        notAfter            publish
-- ARGV per name   owner    owner, lease   owner, channel, turn           old, fresh, lease   old, fresh, lease, channel
--                                         [, code of its place]
-- ARGV last       leases
-- line is the lock again if nobody can stand there; turn is how long engines keep the lock between two pauses for others, in ms; publish is
-- PUBLISH, SPUBLISH or BOTH; leases, of renew one for all, or each, are in ms.
-- reply per name: 1 still held, or adopted; of a confirmation a PLACE for each that stands in line; 0 or a PLACE for each, or GIVEN to the line,
--                 of a release, and 1 more if the first has been told to ask at once; 0 detached; -1 not this owner's; LATE - now; a fault
local adopts, detaches, renews, confirms = VERB == 'adopt_simple', VERB == 'detach_simple', VERB == 'renew_simple', VERB == 'confirm_simple'
local tardy = adopts and late(ARGV[1])
if tardy then return tardy end

-- pass makes fresh the owner of a lock that old has, for lease. It was done before if fresh has it.
local function pass(lock, old, fresh, lease)
	local done, refused = owns(lock, fresh)
	if refused then return adopts and fault(refused, lock) or lostor(refused, lock) end
	if done then return adopts and prolong(lock, lease) or 0 end
	if not owns(lock, old) then return -1 end
	local made = call('SET', lock, fresh, 'PX', lease) -- refused at maxmemory, and then nothing has changed
	return made.ok and 0 or fault(made, lock)
end

-- free frees a lock that its owner has, and gives it to the line. If only one of their keys was there, it was the lock.
local function free(lock, line, at, there)
	local owner, channel, code = ARGV[at], ARGV[at + 1], VERB == 'release_simple_from_line' and ARGV[at + 3]
	local mine, refused = owns(lock, owner)
	if line and code then leave(line, owner, code, ARGV[1], channel) end
	if not mine then return refused and lostor(refused, lock) or -1 end
	local freed = call('DEL', lock)
	if freed ~= 1 then return fault(freed, lock) end
	return line and there ~= 1 and handOver(lock, line, ARGV[1], channel, owner, nil, tonumber(ARGV[at + 2])) or 0
end

local width = (renews or adopts) and 1 or 2
local n = #KEYS / width
local lined = width == 2 and not none(KEYS, 2, 2)
return each(n, function(i, there)
	local lock, line = KEYS[width * (i - 1) + 1], lined and KEYS[2 * i]
	if line == lock then line = nil end
	if adopts then
		local reply = pass(lock, ARGV[3 * i - 1], ARGV[3 * i], ARGV[3 * i + 1])
		return reply == 0 and 1 or reply
	elseif detaches then
		local reply = pass(lock, ARGV[4 * i - 2], ARGV[4 * i - 1], ARGV[4 * i])
		if reply == 0 and line then tell(line, first(line), ARGV[1], ARGV[4 * i + 1], FREE) end
		return reply
	elseif not renews and not confirms then
		return free(lock, line, (VERB == 'release_simple' and 3 or 4) * (i - 1) + 2, there)
	end
	local owner, lease = ARGV[i], ARGV[n + i] or ARGV[n + 1]
	if confirms then owner, lease = ARGV[2 * i - 1], ARGV[2 * i] end
	local mine, refused = owns(lock, owner)
	if not mine then return refused and lostor(refused, lock) or -1 end
	return prolong(lock, lease) or renews and 1 or line and PLACE * places(line) or 0
end)
