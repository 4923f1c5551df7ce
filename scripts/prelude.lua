-- prelude.lua: what many scripts use. A script is given what it uses of it, before its own text (compose.go).
local FAULT = -2251799813685248 -- -(2^51): a fault of class k is FAULT - k
local LATE = -4503599627370496 -- -(2^52): an acquire that arrived after its notAfter answers LATE - server milliseconds
local RANGE = FAULT - 10 -- a number is, or would become, one that Lua cannot count with
local EXACT = 9007199254740992 -- 2^53: a Lua number below it is exact
local call = redis.pcall
local unpack = table.unpack or unpack -- where scripts run in Lua 5.4 there is only the first
local WIDE = #KEYS == 1 and ARGV[#ARGV] == 'KEYS' -- see below

-- In a cluster a call may be WIDE: its names are in several hash slots, but a call can declare keys of one slot only. It declares its first key.
-- All keys follow its arguments, then their number, then KEYS; no other call with one key ends so. No command of the script may have keys of
-- two names: on Valkey 9.1 all scripts of all clients would fail from then on, until a restart (docs/CLOUDS.md).
local KEYS, ARGV = KEYS, ARGV
if WIDE then
	local last = #ARGV
	local n = tonumber(ARGV[last - 1])
	for i = 2, n do KEYS[i] = ARGV[last - 2 - n + i] end
	for i = last, last - 1 - n, -1 do ARGV[i] = nil end
end

-- SELDOM: most calls do without the functions that follow, so these are made when the first of them is called (compose.go). They tell of
-- refused commands in reply codes; codes.go has the table.

-- fault returns the code of an error that call returned. A reply that is no error was unexpected.
local function fault(reply, key)
	if type(reply) ~= 'table' or not reply.err then return FAULT - 8 end
	-- A class is the position here. 8 to 10 are taken: another word gets a class by an if of its own below, and a row in codes.go.
	local faults = { 'READONLY', 'OOM', 'MISCONF', 'NOREPLICAS', 'NOPERM', 'user executing the script', 'WRONGTYPE' }
	for class, word in ipairs(faults) do
		if string.find(reply.err, word, 1, true) then
			if word == 'WRONGTYPE' then
				local kinds = { string = 1, list = 2, set = 3, zset = 4, hash = 5, stream = 6 }
				local found = call('TYPE', key)
				return FAULT - 16 - (kinds[found.ok or found] or 0)
			end
			return FAULT - class
		end
	end
	if string.find(reply.err, 'ACL failure in script', 1, true) then return FAULT - 6 end -- since Redis 7.2
	-- The hash slot is moving (two texts, one of Redis 8), or no node serves it (two texts).
	for _, words in ipairs({ 'non local key', 'during rehashing of the slot', 'slot not served', 'cluster is down' }) do
		if string.find(reply.err, words, 1, true) then return FAULT - 9 end
	end
	return FAULT - 8
end

-- lostor returns the code of an error about an owner that should be there: -1 if the key has another type, because then the lock is gone;
-- else the fault.
local function lostor(reply, lock)
	local code = fault(reply, lock)
	if code <= FAULT - 16 then return -1 end
	return code
end

-- foreign returns the fault of a hash that is no lock of this kind.
local function foreign()
	return FAULT - 16 - 5
end

-- OFTEN: a call makes those of the functions that follow that its script uses.

-- microseconds returns the server's time.
local function microseconds()
	local now = redis.call('TIME') -- raises: it is before the first write
	return now[1] * 1000000 + now[2]
end

-- clock returns the server's time in milliseconds.
local function clock()
	return math.floor(microseconds() / 1000)
end

-- late returns the answer to a call that arrived after its notAfter (0: no bound), or nil. now may be nil.
local function late(notAfter, now)
	local bound = tonumber(notAfter)
	if bound == 0 then return nil end
	now = now or clock()
	if now > bound then return LATE - now end
end

-- taken returns the answer to an acquire that found another owner. A longer TTL than 2^42 ms, 139 years, is cut: larger numbers mean
-- something else.
local function taken(ttl)
	if ttl > 4398046511104 then ttl = 4398046511104 end
	return -(ttl + 2)
end

-- prolong makes a key last for lease ms at least. It never lowers a TTL. It answers the fault by which Redis refused. It always writes,
-- because a WAIT that follows covers only what its connection has written. Since Redis 7 PEXPIRE with GT compares by itself, with no TTL as
-- the longest; it changes nothing if the TTL is not longer, as when the same is asked twice in a millisecond.
local function prolong(key, lease)
	if redis.REDIS_VERSION_NUM and call('PEXPIRE', key, lease, 'GT') == 1 then return nil end
	local ttl = call('PTTL', key)
	if type(ttl) == 'table' then return fault(ttl, key) end
	local reply = call('PEXPIRE', key, string.format('%.0f', math.min(math.max(ttl, tonumber(lease)), EXACT)))
	if reply ~= 1 then return fault(reply, key) end
end

-- prolonghold makes a hold key with left ms left last for lease ms at least, and answers the fault by which Redis refused. It makes a lost
-- key anew: without it the other readers would free the lock when they leave. A script that must not be refused at maxmemory has written
-- something before.
local function prolonghold(key, left, lease)
	local reply
	if left == -2 then
		reply = call('SET', key, '1', 'PX', lease)
	elseif left < tonumber(lease) then
		reply = call('PEXPIRE', key, lease)
	end
	if type(reply) == 'table' and reply.err then return fault(reply, key) end
end

-- bound gives a lock that was just taken its TTL. If that is refused, it removes the fields that were made, and answers the fault: a lock
-- without a TTL would stand for ever.
local function bound(lock, lease, ...)
	local reply = call('PEXPIRE', lock, lease)
	if reply == 1 then return nil end
	call('HDEL', lock, ...) -- unchecked: the answer is the fault in any case
	return fault(reply, lock)
end

-- tagged returns a name as Redisson puts it into the names of further keys, which are then in the same hash slot.
local function tagged(name)
	return string.find(name, '{', 1, true) and name or '{' .. name .. '}'
end

-- none reports, by one command, that none of the keys first, first + width, ... exists. It is false if that is refused, or if the call is
-- wide: then each key must be looked at.
local function none(keys, first, width)
	if WIDE then return false end
	local some = {}
	for i = first, #keys, width do some[#some + 1] = keys[i] end
	return call('EXISTS', unpack(some)) == 0
end

-- An engine that publishes BOTH ways also listens both ways, so it is counted by both. Others may listen one way. So the larger count says how
-- many listen.

-- publish sends a message, and answers how many subscribers it has: 0 with NONE, which sends nothing, and -2 if this user may not publish on
-- the channel one of the ways.
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

-- listeners counts the subscribers of a channel, and reports whether there may be more, because this user may not ask.
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

-- publishCode tells an engine that it was given a lock, and answers how many subscribers heard it; nil: the code was not published, so the lock
-- may be taken back. Without a subscriber at this node the code is not published: the engine might hear it at another node of the cluster.
local function publishCode(how, channel, code)
	local heard
	for _, way in ipairs(how == 'BOTH' and { 'PUBLISH', 'SPUBLISH' } or { how }) do
		local reply = (way == how or listeners(way, channel) > 0) and publish(way, channel, code) or -2
		if reply >= 0 then heard = math.max(heard or 0, reply) end
	end
	return heard
end

-- each runs step for each name. If all answers are the same, it returns that integer, else all of them. In a WIDE call it first counts the
-- keys of the name by one command, which is refused while they are on different nodes, and passes the count to step.
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

-- SELDOM: they are of read-write locks.

-- channelof returns the channel of a read-write lock (acquire_rw.lua).
local function channelof(lock)
	return 'redisson_rwlock:' .. tagged(lock)
end

-- holdkey returns the key of a reader's nth hold, in the hash slot of the lock. A call declares the keys of its own engine, but cannot declare
-- those of other readers, which only the script sees.
local function holdkey(lock, owner, n)
	return tagged(lock) .. ':' .. owner .. ':rwlock_timeout:' .. n
end

-- others returns for how many ms the other readers of a lock live: the longest TTL of their hold keys. 0 or less: they are dead. nil: not known,
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
