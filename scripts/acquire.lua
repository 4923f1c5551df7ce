-- acquire.lua: take mutexes. An owner id that has the lock already is granted again, so asking twice is harmless. By VERB, which
-- stands before this text, acquire_fenced also gives each tenure a block of fencing tokens, and acquire_in_line also gives tokens of fenced
-- locks, and places in the lines for locks that are held (line.lua).
-- invariant: late-acquire-does-nothing, reply-says-what-redis-holds
--                 acquire                       acquire_fenced                    acquire_in_line
-- KEYS per name   lock                          lock, fencing counter             lock, its line or the lock again, fencing counter or
--                                                                                 the lock again
-- ARGV first      notAfter                      notAfter, block, idle             notAfter, block, idle, publish
-- ARGV per name   owner                         owner, lease                      owner, lease, code of its place
-- ARGV last       one lease for all, or each
-- lock is a hash of owner -> hold count, and none comes twice; the line is a key of ours alone. notAfter is the server time in ms after
-- which nothing may be taken, 0: no bound; block is how many tokens a tenure gets; after idle ms an unused counter expires, 0: never;
-- publish is PUBLISH, SPUBLISH or BOTH; leases are in ms.
-- reply per name: 1 granted, of a fenced lock the last token of its block; -(pttl+2) held by another owner; the same plus STANDING times
--                 1 to 4: the place stands; LATE - now; a fault
-- A repeated call under the same owner id gets a fresh block of tokens: no caller has seen one of the first.
local plain, lined = VERB == 'acquire', VERB == 'acquire_in_line'
local micros = not plain and microseconds()
local tardy = late(ARGV[1], micros and math.floor(micros / 1000))
if tardy then return tardy end

local allFree = plain and not WIDE and call('EXISTS', unpack(KEYS)) == 0 -- one look for all names; if it is refused, one at each
local width = plain and 1 or lined and 3 or 2
local n = #KEYS / width
return each(n, function(i)
	local lock, owner, lease = KEYS[i], ARGV[i + 1], ARGV[n + i + 1] or ARGV[n + 2]
	if allFree then
		local reply = call('HSET', lock, owner, '1')
		if reply ~= 1 then return fault(reply, lock) end
		return bound(lock, lease, owner) or 1
	end
	local line, counter, code
	if not plain then
		local at = width * (i - 1)
		lock, counter, owner, lease = KEYS[at + 1], KEYS[at + width], ARGV[at + 4], ARGV[at + 5]
		if lined then line, owner, lease, code = KEYS[at + 2], ARGV[at + 5], ARGV[at + 6], ARGV[at + 7] end
		if line == lock then line = nil end
	end
	local ttl, mine = call('PTTL', lock), false
	if type(ttl) == 'table' then return fault(ttl, lock) end
	if ttl ~= -2 then
		local found = call('HMGET', lock, owner, 'mode')
		if found.err then return fault(found, lock) end
		if found[2] then return foreign() end
		if not found[1] then return taken(ttl) + (line and stand(lock, line, owner, code, lease, ARGV[4]) or 0) end
		mine = true
	end
	local token = 1
	if counter and counter ~= lock then
		token = tokensof(counter, tonumber(ARGV[2]), ARGV[3], micros)
		if token < 0 then return token end
	end
	local refused
	if mine then
		refused = prolong(lock, lease)
	else
		local reply = call('HSET', lock, owner, '1')
		if reply ~= 1 then return fault(reply, lock) end
		refused = bound(lock, lease, owner)
	end
	if refused then return refused end
	if line then forget(line, owner, code) end
	return token
end)
