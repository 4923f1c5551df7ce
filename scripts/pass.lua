-- pass.lua: pass locks from one owner to another, without freeing them in between, by VERB:
--   adopt      mutexes to fresh owners of this engine, which take the place of others. A fenced lock gets a block of tokens besides.
--   detach     mutexes to owners that no engine renews, and wake the waiters: they learn how long the names stay taken. A lock that
--              was passed before is left as it is: how long it stays taken was said then.
--   downgrade  read-write locks from a writer that has no write holds any more, but reads, to that reader, and wake those that wait
--              to read.
-- A repeated call after a lost answer finds that done.
-- invariant: late-acquire-does-nothing, detached-name-stays
--                 adopt                             detach                                  downgrade
-- KEYS per name   lock, counter or the lock again   lock, queue or line or the lock again   lock, its line or the lock again, the
--                                                                                           key of the reader's hold
-- ARGV first      notAfter, block, idle             publish                                 publish
-- ARGV per name   old, fresh, lease                 old, fresh, lease, channel or ''        old (with :write), fresh, lease, channel
-- counter is the fencing counter of a fenced lock, queue that of a fair lock, line that of a mutex; notAfter, block and idle are as in
-- acquire.lua; publish is PUBLISH, SPUBLISH or BOTH; old and fresh are owners; leases are in ms; '': nobody listens.
-- reply per name: of adopt as acquire.lua, of the others subscribers woken, >= 0, or -2 passed, but this user may not publish; -1 not the
--                 old owner's; a fault

-- pass gives a lock from the owner old, which is there with its hold count, to fresh, with a lease of its own. It answers the
-- fault by which Redis refused: then old keeps the lock, for as long as it had it.
local function pass(lock, old, count, fresh, lease)
	local made = call('HSET', lock, fresh, '1') -- refused at maxmemory, and then nothing has changed
	if type(made) == 'table' then return fault(made, lock) end
	local gone = call('HDEL', lock, old)
	local timed = gone == 1 and call('PEXPIRE', lock, lease)
	if timed == 1 then return nil end
	if gone == 1 then call('HSET', lock, old, count) end -- unchecked: the answer is the fault in any case
	call('HDEL', lock, fresh) -- unchecked: so it is
	return fault(timed or gone, lock)
end

if VERB == 'adopt' then
	local micros = microseconds()
	local tardy = late(ARGV[1], math.floor(micros / 1000))
	if tardy then return tardy end

	return each(#KEYS / 2, function(i)
		local lock, counter, old, fresh, lease = KEYS[2 * i - 1], KEYS[2 * i], ARGV[3 * i + 1], ARGV[3 * i + 2], ARGV[3 * i + 3]
		local found = call('HMGET', lock, old, fresh, 'mode')
		if found.err then return fault(found, lock) end
		if found[3] then return foreign() end
		if not found[1] and not found[2] then return -1 end
		local token = counter == lock and 1 or tokensof(counter, tonumber(ARGV[2]), ARGV[3], micros)
		if token < 0 then return token end
		if found[2] then return prolong(lock, lease) or token end -- asked again
		return pass(lock, old, found[1], fresh, lease) or token
	end)
end

if VERB == 'detach' then
	return each(#KEYS / 2, function(i)
		local lock, other, at = KEYS[2 * i - 1], KEYS[2 * i], 4 * i - 3
		local old, fresh, channel = ARGV[at + 1], ARGV[at + 2], ARGV[at + 4]
		local found = call('HMGET', lock, old, fresh)
		if found.err then return lostor(found, lock) end
		if not found[1] and not found[2] then return -1 end
		local refused = found[1] and pass(lock, old, found[1], fresh, ARGV[at + 3])
		if refused then return refused end
		if channel == '' then return 0 end
		if string.find(other, ':wheellock:line$') then -- of the waiters in a line, or in a queue, only the first asks
			tell(other, first(other), ARGV[1], channel, FREE)
		elseif other ~= lock then
			local head = call('LINDEX', other, 0)
			if type(head) ~= 'string' then return 0 end
			channel = channel .. ':' .. head
		end
		return publish(ARGV[1], channel, '0')
	end)
end

if VERB == 'downgrade' then
	-- What the reader needs is made before the writer goes: a script that is refused half-way must leave the writer as it was.
	return each(#KEYS / 3, function(i)
		local lock, line, hold, at = KEYS[3 * i - 2], KEYS[3 * i - 1], KEYS[3 * i], 4 * i - 3
		local writer, reader, lease, channel = ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4]
		local found = call('HMGET', lock, writer, reader)
		if found.err then return lostor(found, lock) end
		if not found[1] and not found[2] then return -1 end
		local left = call('PTTL', hold)
		if type(left) == 'table' then return fault(left, hold) end
		local refused = prolong(lock, lease) -- first: a write that Redis allows at maxmemory
		if refused then return refused end
		local ttl = call('PTTL', lock)
		if type(ttl) == 'table' then return fault(ttl, lock) end
		refused = prolonghold(hold, left, string.format('%.0f', ttl))
		if refused or not found[1] then return refused or 0 end
		local made = call('HSET', lock, 'mode', 'read', reader, '1')
		if type(made) == 'table' then return fault(made, lock) end
		local gone = call('HDEL', lock, writer)
		if gone ~= 1 then
			call('HSET', lock, 'mode', 'write') -- unchecked: the answer is the fault in any case
			if not found[2] then call('HDEL', lock, reader) end -- unchecked: so it is
			return fault(gone, lock)
		end
		if line ~= lock and call('EXISTS', line) ~= 0 then tellReaders(line, ARGV[1], channel) end
		return publish(ARGV[1], channel, '1')
	end)
end
