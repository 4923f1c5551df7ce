-- permit_take.lua: take permits that expire, for one caller per name. A repeated call finds them taken under the same ids. If too few are
-- free, the engine gets a place in line (called.lua); a call for 0 permits gives the place up.
-- KEYS per name   permits, an integer; those held, a sorted set; this engine's receipt; the line or the permits again
-- ARGV first      PUBLISH, SPUBLISH or BOTH; notAfter; the engine's 8 bytes; the engine's uuid
-- ARGV per name   number of the call, and of the first id; 1 if it was sent before, else 0; how many; lease in ms; the permits of its place, 0
--                 for no place; channel
-- reply per name: 1 taken; -(ms+2) too few, or another engine is called, and the first held permit ends in ms; -1 none of them ever ends; plus
--                 STANDING times 1 to 8 if the place stands; LATE - now; a fault
local tardy = late(ARGV[2])
if tardy then return tardy end

return each(#KEYS / 4, function(i)
	local key, held, receipt, line = KEYS[4 * i - 3], KEYS[4 * i - 2], KEYS[4 * i - 1], KEYS[4 * i]
	local id, again, n, wants, channel = ARGV[6 * i - 1], ARGV[6 * i] == '1', tonumber(ARGV[6 * i + 1]), ARGV[6 * i + 3], ARGV[6 * i + 4]
	local now = clock()
	local ends = now + tonumber(ARGV[6 * i + 2])
	local turn = line ~= key and (wants ~= '0' or call('EXISTS', line) ~= 0) and turnOf(line, ARGV[4], wants)
	if n == 0 then
		if turn then quit(turn, ARGV[1], channel, number(key) or 0) end
		return -1
	end
	local mine = ids(ARGV[3], id, n)
	local score = call('ZSCORE', held, mine[1])
	if type(score) == 'table' then return fault(score, held) end
	if score then -- asked again after a lost answer: the permits get the lease of this call
		mayGrow(receipt)
		for _, one in ipairs(mine) do
			score = call('ZSCORE', held, one)
			if not score then return -1 end -- it was freed meanwhile
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
	local others = turn and turn.others
	if others or free + #(over(held, now) or {}) / 2 < n then
		local bad = reclaim(key, held, ARGV[1], channel, now)
		if bad then return bad end
		local ends = call('ZRANGE', held, 0, 0, 'WITHSCORES')
		local left = ends[2] and tonumber(ends[2]) < 922337203685477 and -(tonumber(ends[2]) - now + 2) or -1
		if turn and wants ~= '0' then left = math.max(left, taken(EXACT)) + queue(turn, ARGV[4], ARGV[6 * i + 1]) end
		if turn then callOthers(turn, ARGV[1], channel, number(key) or 0) end
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
		reclaim(key, held, ARGV[1], channel, now) -- unchecked: the next call does it
		local life = call('PTTL', key)
		if type(life) == 'number' and life > 0 then -- the held permits end with the key
			call('PEXPIRE', held, life) -- unchecked: without it they end by their leases
		end
		if turn then served(turn, ARGV[1], channel, number(key) or 0) end
		return 1
	end)
end)
