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

if VERB == 'renew_simple' then
	local n = #KEYS
	return each(n, function(i)
		return missing(KEYS[i], ARGV[i]) or prolong(KEYS[i], ARGV[n + i] or ARGV[n + 1]) or 1
	end)
end

if VERB == 'confirm_simple' then
	local lined = not none(KEYS, 2, 2)
	return each(#KEYS / 2, function(i)
		local lock, line = KEYS[2 * i - 1], KEYS[2 * i]
		return missing(lock, ARGV[2 * i - 1]) or prolong(lock, ARGV[2 * i]) or lined and line ~= lock and PLACE * places(line) or 0
	end)
end

if VERB == 'adopt_simple' then
	local tardy = late(ARGV[1])
	if tardy then return tardy end

	return each(#KEYS, function(i)
		local lock, old, fresh, lease = KEYS[i], ARGV[3 * i - 1], ARGV[3 * i], ARGV[3 * i + 1]
		local found = call('GET', lock)
		if found == fresh then return prolong(lock, lease) or 1 end -- asked again
		if found ~= old then return type(found) == 'table' and fault(found, lock) or -1 end
		local made = call('SET', lock, fresh, 'PX', lease) -- refused at maxmemory, and then nothing has changed
		return made.ok and 1 or fault(made, lock)
	end)
end

if VERB == 'detach_simple' then
	local lined = not none(KEYS, 2, 2)
	return each(#KEYS / 2, function(i)
		local lock, line, at = KEYS[2 * i - 1], KEYS[2 * i], 4 * i - 2
		local old, fresh, lease, channel = ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3]
		local found = call('GET', lock)
		if found == fresh then return 0 end -- it was done before
		if found ~= old then return type(found) == 'table' and lostor(found, lock) or -1 end
		local made = call('SET', lock, fresh, 'PX', lease) -- as above
		if not made.ok then return fault(made, lock) end
		if lined and line ~= lock then tell(line, first(line), ARGV[1], channel, FREE) end
		return 0
	end)
end
