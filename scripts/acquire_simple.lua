-- acquire_simple.lua: take simple locks, the strings that most libraries lock with: the value is the owner. An owner that has the lock already
-- is granted again, so asking twice is harmless. By VERB acquire_simple_in_line gives places in the lines for locks that others have (line.lua).
-- invariant: late-acquire-does-nothing, reply-says-what-redis-holds
--                 acquire_simple   acquire_simple_in_line
-- KEYS per name   lock             lock, its line or the lock again
-- ARGV first      notAfter         notAfter, publish
-- ARGV per name   owner, lease     owner, lease, code of its place, channel
-- none comes twice; notAfter is the server time in ms after which nothing may be taken, 0: no bound; publish is PUBLISH, SPUBLISH or BOTH;
-- leases are in ms.
-- reply per name: 1 granted; -(pttl+2) held by another owner, or in line left to others for so long; STANDING, twice, thrice or four times,
--                 - (pttl+2) the same: thrice, another than an engine has it; else as acquire_in_line; LATE - now; a fault
local tardy = late(ARGV[1])
if tardy then return tardy end

local lined = VERB == 'acquire_simple_in_line'
local n = lined and #KEYS / 2 or #KEYS
local allFree = not lined and not WIDE and call('EXISTS', unpack(KEYS)) == 0 -- the connection is to have read them (Options.WatchLoss)
return each(n, function(i)
	if allFree then
		local made = call('SET', KEYS[i], ARGV[2 * i], 'PX', ARGV[2 * i + 1])
		return made.ok and 1 or fault(made, KEYS[i])
	end
	local lock, line, at = KEYS[i], nil, 2 * i - 1
	if lined then
		lock, line, at = KEYS[2 * i - 1], KEYS[2 * i], 4 * i - 2
		if line == lock then line = nil end
	end
	local owner, lease, code, channel = ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4]
	local found = call('GET', lock)
	if type(found) == 'table' then return fault(found, lock) end
	if found and #found > 1048576 then return FAULT - 17 end -- no lock, as inspect.lua says, and not to be read again and again
	local rest = line and not found and resting(line)
	if rest or found and found ~= owner then
		local ttl = rest or call('PTTL', lock)
		if type(ttl) == 'table' then return fault(ttl, lock) end
		if line then return taken(ttl) + stand(lock, line, owner, code, lease, ARGV[2], channel) end
		return taken(ttl) + (strange(found) and 3 * STANDING or 0)
	end
	local made = not found and call('SET', lock, owner, 'PX', lease)
	local refused = made and not made.ok and fault(made, lock) or found and prolong(lock, lease)
	if line and not refused then forget(line, owner, code) end
	return refused or 1
end)
