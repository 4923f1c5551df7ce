-- rw.lua: the keys of a read-write lock. It is put between prelude.lua and the scripts of read-write locks.
--
-- The lock is Redisson's: a hash with a field mode, read or write, and a field for each owner with its hold count. A writer's field is its
-- owner id and ":write". Each hold of a reader also has a key of its own, with that hold's lease: when all these keys are gone, the readers
-- in the hash are dead.

-- holdkey returns the key of a reader's nth hold, in the hash slot of the lock. A call declares the keys of its own engine, but cannot declare
-- those of other readers, which only the script sees.
local function holdkey(lock, owner, n)
	return tagged(lock) .. ':' .. owner .. ':rwlock_timeout:' .. n
end

-- channelof returns the channel of a lock.
local function channelof(lock)
	return 'redisson_rwlock:' .. tagged(lock)
end

-- others returns for how many ms the other readers live: the longest TTL of their hold keys. 0 or less: they are dead. nil: not known,
-- because some of these keys may be on another node (the hash slot is moving), or because there is a writer, or was one.
local function others(lock, owner)
	local left, writes = -3, false
	local fields = call('HGETALL', lock)
	if fields.err then return nil end
	for f = 1, #fields, 2 do
		for n = fields[f] ~= owner and tonumber(fields[f + 1]) or 0, 1, -1 do
			local ttl = call('PTTL', holdkey(lock, fields[f], n)) -- undeclared: unless the engine keeps to declared keys
			if type(ttl) == 'table' then return nil end
			left = math.max(left, ttl)
		end
		writes = writes or fields[f] == 'mode' and fields[f + 1] == 'write'
	end
	if left <= 0 and writes then return nil end
	return left
end
