-- pass.lua: is put between prelude.lua and the scripts that change the owner of a lock without freeing it in between.

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
