-- rights.lua: which commands of the other scripts this user may not run, and which the server does not have. It writes a
-- key of its own and deletes it.
-- ARGV[1] a key, ARGV[2] a channel that nobody uses. Only an engine that keeps to declared keys declares the key; else it is not
--         declared, so that missing rights on names do not matter here.
-- ARGV[3] PUBLISH, SPUBLISH or BOTH
-- reply the missing commands, separated by spaces; a ? before those that the server does not have; empty when none is missing
local key, channel = ARGV[1], ARGV[2]
local missing = {}
local function try(name, ...)
	local reply = redis.pcall(...)
	if type(reply) ~= 'table' or not reply.err then return end
	local function says(words) return string.find(reply.err, words, 1, true) end
	-- Unknown Redis command, Unknown Redict command, of Valkey Unknown command
	local absent = says('command called from') or says('nknown subcommand') or says('Unknown PUBSUB subcommand')
	-- Redis 7.0 and before; since 7.2
	if absent or says('run this command') or says('permissions to run') then
		if not missing[name] then missing[#missing + 1] = (absent and '?' or '') .. name end
		missing[name] = true
	end
end
try('time', 'TIME')
try('pttl', 'PTTL', key)
try('hset', 'HSET', key, 'probe', 1)
try('pexpire', 'PEXPIRE', key, 1000)
try('hmget', 'HMGET', key, 'probe', 'mode')
try('hexists', 'HEXISTS', key, 'probe')
try('hgetall', 'HGETALL', key)
try('hget', 'HGET', key, 'probe')
try('hlen', 'HLEN', key)
try('hdel', 'HDEL', key, 'probe')
try('set', 'SET', key, 0, 'PX', 1000)
try('get', 'GET', key)
try('incrby', 'INCRBY', key, 1)
try('decrby', 'DECRBY', key, 1)
try('del', 'DEL', key)
try('zadd', 'ZADD', key, 1, 'probe')
try('zscore', 'ZSCORE', key, 'probe')
try('zrange', 'ZRANGE', key, 0, 0)
try('zcard', 'ZCARD', key)
try('zrem', 'ZREM', key, 'probe')
try('zremrangebyscore', 'ZREMRANGEBYSCORE', key, 0, 0)
try('del', 'DEL', key)
try('type', 'TYPE', key)
try('exists', 'EXISTS', key)
try('lindex', 'LINDEX', key, 0)
try('lrange', 'LRANGE', key, 0, -1)
try('llen', 'LLEN', key)
try('lpos', 'LPOS', key, 'probe')
try('rpush', 'RPUSH', key, 'probe')
try('lpush', 'LPUSH', key, 'probe')
try('lrem', 'LREM', key, 1, 'probe')
try('lpop', 'LPOP', key)
try('del', 'DEL', key)
if ARGV[3] ~= 'SPUBLISH' then
	try('publish', 'PUBLISH', channel, '0')
	try('pubsub|numsub', 'PUBSUB', 'NUMSUB', channel)
end
if ARGV[3] ~= 'PUBLISH' then
	try('spublish', 'SPUBLISH', channel, '0')
	try('pubsub|shardnumsub', 'PUBSUB', 'SHARDNUMSUB', channel)
end
return table.concat(missing, ' ')
