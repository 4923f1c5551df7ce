-- one.lua: what most calls do, for one name that is free, or that nobody waits for. It stands before everything else in its scripts, and makes no
-- function: Lua makes those of a script anew in every call, which takes a third of its time. All that is answered here is that the lock
-- is taken, or that it is free. Whatever else there is, the rest of the script finds as it was: what was written here is taken back first.
if VERB == 'acquire' then
	if #KEYS == 1 and #ARGV == 3 then
		local call, lock, bound = redis.pcall, KEYS[1], ARGV[1] + 0
		local now = bound ~= 0 and redis.call('TIME') -- raises: it is before the first write
		if (not now or now[1] * 1000 + now[2] / 1000 < bound) and call('EXISTS', lock) == 0 and call('HSET', lock, ARGV[2], '1') == 1 then
			if call('PEXPIRE', lock, ARGV[3]) == 1 then return 1 end
			call('HDEL', lock, ARGV[2]) -- unchecked: the rest of the script tells of the fault
		end
	end
end
if VERB == 'release' then
	if #KEYS == 2 and #ARGV == 3 and ARGV[1] == 'PUBLISH' then
		local call = redis.pcall
		if call('EXISTS', KEYS[2]) == 0 and call('HDEL', KEYS[1], ARGV[2]) == 1 then
			local heard = call('PUBLISH', ARGV[3], '0')
			return type(heard) == 'table' and -2 or heard
		end
	end
end
if VERB == 'acquire_simple' then
	if #KEYS == 1 and #ARGV == 3 then
		local call, lock, bound = redis.pcall, KEYS[1], ARGV[1] + 0
		local now = bound ~= 0 and redis.call('TIME') -- raises: it is before the first write
		if (not now or now[1] * 1000 + now[2] / 1000 < bound) and call('EXISTS', lock) == 0 and call('SET', lock, ARGV[2], 'PX', ARGV[3]).ok then return 1 end
	end
end
if VERB == 'release_simple' then
	if #KEYS == 2 and #ARGV == 4 then
		local call = redis.pcall
		if call('EXISTS', KEYS[2]) == 0 and call('GET', KEYS[1]) == ARGV[2] and call('DEL', KEYS[1]) == 1 then return 0 end
	end
end
