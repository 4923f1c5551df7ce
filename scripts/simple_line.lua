-- simple_line.lua: is put before line.lua in the scripts of simple locks: what differs where the lock is a string, whose value is the owner.
-- Others poll. They hear of nothing, and an engine that has such an owner before it asks again by itself.

-- owns reports whether a lock has that owner, or what Redis says against the question.
local function owns(lock, owner)
	local found = call('GET', lock)
	return found == owner, type(found) == 'table' and found
end

-- outside reports whether the owner of a lock may be no engine that gives it to the line.
local function outside(lock)
	local owner = call('GET', lock)
	return type(owner) == 'string' and (#owner > 200 or not string.find(owner, '^%x+%-%x+%-8%x+%-%x+%-%x+:%d+:%w*$')) -- of a long one the pattern costs more
end

-- put makes an owner the owner of a free lock for GIFT, and reports whether it has.
local function put(lock, owner)
	local made = call('SET', lock, owner, 'NX', 'PX', GIFT)
	return made and made.ok
end

-- withdraw takes a lock back from an owner that has not heard of it.
local function withdraw(lock, owner)
	if owns(lock, owner) then call('DEL', lock) end -- unchecked: its lease is short
end
