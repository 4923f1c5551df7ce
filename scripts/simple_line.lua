-- simple_line.lua: the line of a simple lock, a string with the owner as its value. It is put before line.lua in the scripts of simple locks,
-- and replaces outside, put, withdraw and endTurn of it. Other clients poll: they publish nothing and listen to nothing, so an engine that finds
-- another owner asks again by itself.
local REST = 140 -- ms that a lock is left free after a turn (gate.pollWindow)

-- missing returns the answer about an owner that does not have the lock: -1, or the fault; nil if it has it.
local function missing(lock, owner)
	local found = call('GET', lock)
	if found ~= owner then return type(found) == 'table' and lostor(found, lock) or -1 end
end

-- strange reports whether an owner may be another client than an engine, which does not give the lock to the line; so is the owner of a
-- detached lock. Long owners are not matched: the pattern would cost too much.
local function strange(owner)
	return #owner > 200 or not string.find(owner, '^%x+%-%x+%-8%x+%-%x+%-%x+:%d+:[%w:]*$')
end

-- outside reports whether the lock has a strange owner.
local function outside(lock)
	local owner = call('GET', lock)
	return type(owner) == 'string' and strange(owner)
end

-- put makes an owner the owner of a free lock for lease ms, and reports whether it has.
local function put(lock, owner, lease)
	local made = call('SET', lock, owner, 'NX', 'PX', lease)
	return made and made.ok
end

-- withdraw takes a lock back from an owner that was not told of it.
local function withdraw(lock, owner)
	if not missing(lock, owner) then call('DEL', lock) end -- unchecked: its lease is GIFT at most
end

-- endTurn leaves the lock to other clients for REST, unless it is left to them already. SINCE then has the end of REST, in the future.
local function endTurn(line, now, lasts)
	if now and (lasts >= 0 or lasts < -REST) then
		call('ZADD', line, string.format('%.0f', now + REST + BEHIND), SINCE) -- unchecked: without it the next engine that asks takes it
	end
end

-- resting returns for how many ms more a free lock is left to other clients, or nil.
local function resting(line)
	local ends = tonumber(call('ZSCORE', line, SINCE))
	local now = ends and moment()
	local left = now and ends - BEHIND - now or 0
	return left > 0 and left <= REST and left or nil -- more than REST: the clock was put back
end
