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

-- prolonghold makes a hold key, which has left ms left, last for lease ms at least, and answers the fault by which Redis
-- refused. A lost one is made anew: without it the readers that leave would free the lock. Where maxmemory must not refuse
-- that, the script has written something before.
local function prolonghold(key, left, lease)
	local reply
	if left == -2 then
		reply = call('SET', key, '1', 'PX', lease)
	elseif left < tonumber(lease) then
		reply = call('PEXPIRE', key, lease)
	end
	if type(reply) == 'table' and reply.err then return fault(reply, key) end
end

-- channelof is the channel on which a lock becomes free for everybody.
local function channelof(lock)
	return 'redisson_rwlock:' .. tagged(lock)
end
