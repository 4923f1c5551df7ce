-- simple.lua: change held simple locks, strings with the owner as their value, by VERB:
--   renew_simple    prolong them
--   confirm_simple  prolong those that are being handed on, and count the places in line
--   adopt_simple    pass them to fresh owners of this engine
--   detach_simple   pass them to owners that no engine renews, and tell the first in line. One that was passed before is left as it is
-- invariant: late-acquire-does-nothing, detached-name-stays, reply-says-what-redis-holds
--                 renew    confirm        adopt               detach
-- KEYS per name   lock     lock, line     lock                lock, line
-- ARGV first                              notAfter            publish
-- ARGV per name   owner    owner, lease   old, fresh, lease   old, fresh, lease, channel
-- ARGV last       one lease for all, or each
-- line is the lock again if nobody can stand there; publish is PUBLISH, SPUBLISH or BOTH; leases are in ms.
-- reply per name: 1 still held, or adopted; of a confirmation a PLACE for each that stands in line; 0 detached; -1 not this owner's;
--                 LATE - now; a fault
local adopts, detaches, renews, confirms = VERB == 'adopt_simple', VERB == 'detach_simple', VERB == 'renew_simple', VERB == 'confirm_simple'
local tardy = adopts and late(ARGV[1])
if tardy then return tardy end

-- pass makes fresh the owner of a lock that old has, for lease. It was done before if fresh has it.
local function pass(lock, old, fresh, lease)
	local found = call('GET', lock)
	if type(found) == 'table' then return adopts and fault(found, lock) or lostor(found, lock) end
	if found == fresh then return adopts and prolong(lock, lease) or 0 end
	if found ~= old then return -1 end
	local made = call('SET', lock, fresh, 'PX', lease) -- refused at maxmemory, and then nothing has changed
	return made.ok and 0 or fault(made, lock)
end

local width = (renews or adopts) and 1 or 2
local n = #KEYS / width
local lined = width == 2 and not none(KEYS, 2, 2)
return each(n, function(i)
	local lock, line = KEYS[width * (i - 1) + 1], lined and KEYS[2 * i]
	if line == lock then line = nil end
	if adopts then
		local reply = pass(lock, ARGV[3 * i - 1], ARGV[3 * i], ARGV[3 * i + 1])
		return reply == 0 and 1 or reply
	elseif detaches then
		local reply = pass(lock, ARGV[4 * i - 2], ARGV[4 * i - 1], ARGV[4 * i])
		if reply == 0 and line then tell(line, first(line), ARGV[1], ARGV[4 * i + 1], FREE) end
		return reply
	end
	local owner, lease = ARGV[i], ARGV[n + i] or ARGV[n + 1]
	if confirms then owner, lease = ARGV[2 * i - 1], ARGV[2 * i] end
	return missing(lock, owner) or prolong(lock, lease) or renews and 1 or line and PLACE * places(line) or 0
end)
