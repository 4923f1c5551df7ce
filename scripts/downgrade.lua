-- downgrade.lua: turn a writer whose write holds have ended, and which also reads, into a reader, and wake all waiters:
-- other readers may enter. A repeated call after a lost answer finds that done.
-- KEYS[2i-1], KEYS[2i]                         lock, the key of the reader's hold
-- ARGV[1]                                      PUBLISH, SPUBLISH or BOTH
-- ARGV[4i-2], ARGV[4i-1], ARGV[4i], ARGV[4i+1] owner with :write, owner, lease in ms, channel
-- reply per name: subscribers woken, >= 0; -1 not this owner's; -2 done, but this user may not publish; a fault
local KEYS, ARGV = KEYS, ARGV
return each(#KEYS / 2, function(i)
	local lock, hold, writer, reader, lease = KEYS[2 * i - 1], KEYS[2 * i], ARGV[4 * i - 2], ARGV[4 * i - 1], ARGV[4 * i]
	local found = call('HMGET', lock, writer, reader)
	if found.err then return lostor(found, lock) end
	if not found[1] and not found[2] then return -1 end
	local left = call('PTTL', hold)
	if type(left) == 'table' then return fault(left, hold) end
	-- What the reader needs is made before the writer goes: a script that is refused half-way must leave the writer as it was.
	local refused = prolong(lock, lease) -- first: a write that Redis allows at maxmemory
	if refused then return refused end
	local ttl = call('PTTL', lock)
	if type(ttl) == 'table' then return fault(ttl, lock) end
	refused = prolonghold(hold, left, string.format('%.0f', ttl))
	if refused then return refused end
	if not found[1] then return 0 end
	local made = call('HSET', lock, 'mode', 'read', reader, '1')
	if type(made) == 'table' then return fault(made, lock) end
	local gone = call('HDEL', lock, writer)
	if gone ~= 1 then
		call('HSET', lock, 'mode', 'write') -- unchecked: the answer is the fault in any case
		if not found[2] then call('HDEL', lock, reader) end -- unchecked: so it is
		return fault(gone, lock)
	end
	return publish(ARGV[1], ARGV[4 * i + 1], '1')
end)
