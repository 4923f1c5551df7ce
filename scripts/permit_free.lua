-- permit_free.lua: free permits, also of other engines and of Redisson, and wake the waiters.
-- KEYS per name                     permits, an integer; those held, a sorted set; this engine's receipt; the line (called.lua) or the permits again
-- ARGV[1], ARGV[2], ARGV[3]         PUBLISH, SPUBLISH or BOTH; notAfter; the engine's 8 bytes
-- ARGV[5i-1] ... ARGV[5i+3]         number of the call; number of the first id, or 0 if the ids are given; how many; the ids, 16 bytes each; channel
-- reply per name: subscribers woken, >= 0; -1 nothing is freed, because none was held, or one of the given ids was not; -2 freed, but this
-- user may not publish; LATE - now; a fault
local tardy = late(ARGV[2])
if tardy then return tardy end

return each(#KEYS / 4, function(i)
	local key, held, receipt, line, channel = KEYS[4 * i - 3], KEYS[4 * i - 2], KEYS[4 * i - 1], KEYS[4 * i], ARGV[5 * i + 3]
	local id, from, n, given = ARGV[5 * i - 1], ARGV[5 * i], ARGV[5 * i + 1], ARGV[5 * i + 2]
	local before = earlier(receipt, id)
	if before then return before end
	local free, bad = number(key)
	if not free then return bad end
	local now, there, all = clock(), {}, {}
	if from ~= '0' then
		all = ids(ARGV[3], from, n)
	else
		for at = 1, tonumber(n) do all[at] = string.sub(given, 16 * at - 15, 16 * at) end
	end
	local removed = {} -- ids and scores in turn
	for _, one in ipairs(all) do
		local score = call('ZSCORE', held, one)
		if type(score) == 'table' then return fault(score, held) end
		if score and (from ~= '0' or tonumber(score) > now) then
			there[#there + 1] = one
			removed[#removed + 1], removed[#removed + 2] = one, score
		end
	end
	mayGrow(receipt)
	if #there == 0 or from == '0' and #there < #all then return note(receipt, id, -1) or -1 end
	return once(receipt, id, 0, function() return call('ZREM', held, unpack(there)) end, function(gone) -- an id that is given twice is removed once
		local sum = call('INCRBY', key, gone)
		if type(sum) == 'table' then
			putBack(held, removed)
			return noted(receipt, id, fault(sum, key))
		end
		-- As Redisson: for one permit the message is how many are free now, for several how many were freed.
		local heard = publish(ARGV[1], channel, string.format('%.0f', gone == 1 and sum or gone))
		local leads = line ~= key and call('EXISTS', line) ~= 0 and first(line)
		if leads then summon(line, leads, ARGV[1], channel, sum, now) end
		return heard
	end)
end)
