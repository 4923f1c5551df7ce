-- rw.lua: is put between prelude.lua and the scripts of the read-write lock.
--
-- The lock is Redisson's: a hash with a field mode, read or write, and a field for each owner with its hold count;
-- a writer's field is its owner id followed by ":write". Each hold of a reader also has a key of its own, with
-- that hold's lease: when all these keys are gone, the readers in the hash are dead.

-- holdkey names the key of a reader's nth hold. It is in the hash slot of the lock. Keys of this engine are declared. Keys of
-- others cannot be, because only the script sees the readers.
local function holdkey(lock, owner, n)
	return tagged(lock) .. ':' .. owner .. ':rwlock_timeout:' .. n
end

-- channelof is the channel on which a lock becomes free for everybody.
local function channelof(lock)
	return 'redisson_rwlock:' .. tagged(lock)
end

-- others is for how long the readers besides this owner live: what the hold key that lives longest has left; not above 0:
-- they are dead. nil: that cannot be told, for keys of others may be on another node, either the one that the
-- hash slot comes from or the one that it goes to, of which Redis says that they are not local; or there is a writer, or was one.
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
