-- prelude.lua: is put before every script, as far as the script uses it (scripts.go).
local FAULT = -2251799813685248 -- -(2^51): a fault of class k is FAULT - k
local LATE = -4503599627370496 -- -(2^52): an acquire that arrived after its notAfter answers LATE - server milliseconds
local RANGE = FAULT - 10 -- a number is, or would be, one that Lua cannot count with
local EXACT = 9007199254740992 -- 2^53: a Lua number below it is exact
local call = redis.pcall
local unpack = table.unpack or unpack -- where scripts run in Lua 5.4 there is only the first
local WIDE = #KEYS == 1 and ARGV[#ARGV] == 'KEYS' -- see keys.lua

-- microseconds is the server's time.
local function microseconds()
	local now = redis.call('TIME') -- raises: before the first write, and then nothing can be done
	return now[1] * 1000000 + now[2]
end

-- clock is the server's time in milliseconds.
local function clock()
	return math.floor(microseconds() / 1000)
end

-- late answers a call that arrived after its notAfter, which is 0 if there is none; nil: the call is in time. now may be nil.
local function late(notAfter, now)
	local bound = tonumber(notAfter)
	if bound == 0 then return nil end
	now = now or clock()
	if now > bound then return LATE - now end
end

-- taken is the answer to an acquire that found another owner. 2^42 ms, 139 years, stand for anything longer: the
-- numbers beyond mean something else.
local function taken(ttl)
	if ttl > 4398046511104 then ttl = 4398046511104 end
	return -(ttl + 2)
end

-- prolong makes a key that is there last for lease ms at least: never a lower TTL for an owner already present. It
-- answers the fault by which Redis refused. It writes in any case: a WAIT that follows covers what its connection has
-- written, and would else vouch for what an earlier connection wrote. Redis 7 compares by itself, and takes no TTL for the
-- longest; it refuses a TTL that is not longer, as when the same was asked twice in a millisecond.
local function prolong(key, lease)
	if redis.REDIS_VERSION_NUM and call('PEXPIRE', key, lease, 'GT') == 1 then return nil end
	local ttl = call('PTTL', key)
	if type(ttl) == 'table' then return fault(ttl, key) end
	local reply = call('PEXPIRE', key, string.format('%.0f', math.min(math.max(ttl, tonumber(lease)), EXACT)))
	if reply ~= 1 then return fault(reply, key) end
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

-- bound gives a lock that was just taken its TTL. A lock without one would stand for ever: the fields that were made are
-- taken back, and the answer says why.
local function bound(lock, lease, ...)
	local reply = call('PEXPIRE', lock, lease)
	if reply == 1 then return nil end
	call('HDEL', lock, ...) -- unchecked: the answer is the fault in any case
	return fault(reply, lock)
end

-- tagged is a name as Redisson puts it into the names of other keys, which are then in its hash slot.
local function tagged(name)
	return string.find(name, '{', 1, true) and name or '{' .. name .. '}'
end

-- none reports whether none of some keys is there, by one look for all names: those from the first on, width apart. If it is refused, or
-- must not be, each is to be looked at.
local function none(keys, first, width)
	if WIDE then return false end
	local some = {}
	for i = first, #keys, width do some[#some + 1] = keys[i] end
	return call('EXISTS', unpack(some)) == 0
end

-- An engine that speaks BOTH ways also listens both ways, and is one. Others may listen one way. So of the two counts the larger
-- one tells whether there are others.

-- publish wakes the subscribers and answers how many; NONE wakes nobody; -2 when this user may not publish on the channel, of two ways
-- by one: the other wakes those that it can.
local function publish(how, channel, message)
	if how == 'NONE' then return 0 end
	local heard, denied = 0, false
	if how ~= 'SPUBLISH' then
		local reply = call('PUBLISH', channel, message)
		if type(reply) == 'table' then denied = true else heard = reply end
	end
	if how ~= 'PUBLISH' then
		local reply = call('SPUBLISH', channel, message)
		if type(reply) == 'table' then denied = true else heard = math.max(heard, reply) end
	end
	return denied and -2 or heard
end

-- listeners counts the subscribers of a channel, and says whether there may be more: of a way that this user may not ask for it counts none.
local function listeners(how, channel)
	local heard, unsure = 0, false
	if how ~= 'SPUBLISH' then
		local reply = call('PUBSUB', 'NUMSUB', channel)
		heard, unsure = reply[2] or 0, not reply[2]
	end
	if how ~= 'PUBLISH' then
		local reply = call('PUBSUB', 'SHARDNUMSUB', channel)
		heard, unsure = math.max(heard, reply[2] or 0), unsure or not reply[2]
	end
	return heard, unsure
end

-- publishCode tells an engine that listens here that it was given a lock, and answers how many heard it; nil: the code is published
-- nowhere, and the lock may be taken back. By a way that nobody listens to here no code is published: an engine may hear it at another
-- node of a cluster.
local function publishCode(how, channel, code)
	local heard
	for _, way in ipairs(how == 'BOTH' and { 'PUBLISH', 'SPUBLISH' } or { how }) do
		local reply = (way == how or listeners(way, channel) > 0) and publish(way, channel, code) or -2
		if reply >= 0 then heard = math.max(heard or 0, reply) end
	end
	return heard
end

-- each runs one step per name; where all names answer alike, that one integer stands for all. In a WIDE call a step looks at all keys of
-- its name first, in one command: that is refused while they are apart, as a call is that declares them. The step is told how many there
-- are.
local function each(n, step)
	if WIDE and #KEYS > n then
		local width, whole = #KEYS / n, step
		step = function(i)
			local there = call('EXISTS', unpack(KEYS, width * (i - 1) + 1, width * i))
			if type(there) == 'table' then return fault(there) end
			return whole(i, there)
		end
	end
	local first = step(1)
	if n == 1 then return first end
	local replies, alike = { first }, true
	for i = 2, n do
		local reply = step(i)
		replies[i] = reply
		alike = alike and reply == first
	end
	if alike then return first end
	return replies
end
