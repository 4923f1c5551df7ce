-- simple_line.lua: is put before line.lua in the scripts of simple locks: what differs where the lock is a string, whose value is the owner.
-- Others poll. They hear of nothing, and an engine that has such an owner before it asks again by itself.
local REST = 140 -- ms that a lock is left free after a turn (gate.pollWindow)

-- missing is the answer of what is about an owner that does not have the lock: -1, or the fault; nil: it has it.
local function missing(lock, owner)
	local found = call('GET', lock)
	if found ~= owner then return type(found) == 'table' and lostor(found, lock) or -1 end
end

-- strange reports whether an owner may be no engine that gives the lock to the line. Who is left a detached lock is one. The pattern costs more for
-- a long owner.
local function strange(owner)
	return #owner > 200 or not string.find(owner, '^%x+%-%x+%-8%x+%-%x+%-%x+:%d+:[%w:]*$')
end

-- outside reports that of the owner of a lock.
local function outside(lock)
	local owner = call('GET', lock)
	return type(owner) == 'string' and strange(owner)
end

-- put makes an owner the owner of a free lock for GIFT, and reports whether it has.
local function put(lock, owner)
	local made = call('SET', lock, owner, 'NX', 'PX', GIFT)
	return made and made.ok
end

-- withdraw takes a lock back from an owner that has not heard of it.
local function withdraw(lock, owner)
	if not missing(lock, owner) then call('DEL', lock) end -- unchecked: its lease is short
end

-- endTurn has the lock left to others for REST, unless it is already: until then SINCE is ahead.
local function endTurn(line, now, lasts)
	if now and (lasts >= 0 or lasts < -REST) then
		call('ZADD', line, string.format('%.0f', now + REST + BEHIND), SINCE) -- unchecked: then who asks takes it
	end
end

-- resting is for how many ms more a free lock is left to others; nil: it is not.
local function resting(line)
	local ends = tonumber(call('ZSCORE', line, SINCE))
	local now = ends and moment()
	local left = now and ends - BEHIND - now or 0
	return left > 0 and left <= REST and left or nil -- more of it: the clock was put back
end
