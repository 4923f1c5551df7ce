-- permit_take.lua: take permits that expire, for one caller per name; or find that they are taken already under the same ids.
-- KEYS[3i-2], KEYS[3i-1], KEYS[3i]  permits, an integer; those held, a sorted set; this engine's receipt
-- ARGV[1], ARGV[2], ARGV[3]         PUBLISH, SPUBLISH or BOTH; notAfter; the engine's 8 bytes
-- ARGV[5i-1] ... ARGV[5i+3]         number of the call, and of the first id; 1 when it was sent before, else 0; how many; lease in ms; channel
-- reply per name: 1 taken; -(ms+2) too few, the first of the held ones ends in so many ms; -1 none of them ever ends; LATE - now; a fault
local KEYS, ARGV = KEYS, ARGV
local tardy = late(ARGV[2])
if tardy then return tardy end

return each(#KEYS / 3, function(i)
	local key, held, receipt = KEYS[3 * i - 2], KEYS[3 * i - 1], KEYS[3 * i]
	local id, again, n = ARGV[5 * i - 1], ARGV[5 * i] == '1', tonumber(ARGV[5 * i + 1])
	local now = clock()
	local ends = now + tonumber(ARGV[5 * i + 2])
	local mine = ids(ARGV[3], id, n)
	local score = call('ZSCORE', held, mine[1])
	if type(score) == 'table' then return fault(score, held) end
	if score then -- asked again after a lost answer: they last as long as was asked for now
		mayGrow(receipt)
		for _, one in ipairs(mine) do
			score = call('ZSCORE', held, one)
			if not score then return -1 end -- somebody has freed it meanwhile
			local refused = extend(held, one, score, ends)
			if refused then return refused end
		end
		return 1
	end
	local before = earlier(receipt, id)
	if before == 1 then return -1 end -- taken, and over meanwhile
	if before then return before end
	local free, wrong = number(key)
	if not free then return wrong end
	if free + #(over(held, now) or {}) / 2 < n then
		local bad = reclaim(key, held, ARGV[1], ARGV[5 * i + 3], now)
		if bad then return bad end
		local first = call('ZRANGE', held, 0, 0, 'WITHSCORES')
		local left = first[2] and tonumber(first[2]) < 922337203685477 and -(tonumber(first[2]) - now + 2) or -1
		return again and note(receipt, id, left) or left
	end
	return once(receipt, id, 1, function() return call('DECRBY', key, n) end, function()
		local added = {}
		for at, one in ipairs(mine) do added[2 * at - 1], added[2 * at] = string.format('%.0f', ends), one end
		local reply = call('ZADD', held, unpack(added))
		if type(reply) == 'table' then
			call('DECRBY', key, -n) -- unchecked: it was allowed just now
			return noted(receipt, id, fault(reply, held))
		end
		-- Last: in a hash slot on its way, a set that was emptied could not be filled again.
		reclaim(key, held, ARGV[1], ARGV[5 * i + 3], now) -- unchecked: the next call does it
		local life = call('PTTL', key)
		if type(life) == 'number' and life > 0 then -- a key with an end of life takes the held ones along
			call('PEXPIRE', held, life) -- unchecked: else they end as they would have
		end
		return 1
	end)
end)
