-- permits.lua: permits that expire. Each block is the script of a verb (compose.go).

if VERB == 'permit_take' then
	-- permit_take takes permits that expire, for one caller per name. A repeated call finds them taken under the same ids. If too few are
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
end

if VERB == 'permit_free' then
	-- permit_free frees permits, also of other engines and of Redisson, and wakes the waiters.
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
end

if VERB == 'permit_renew' then
	-- permit_renew prolongs held permits.
	-- KEYS[i]             the held permits, a sorted set
	-- ARGV[1]             the engine's 8 bytes
	-- ARGV[i+1]           the holds: "<number of the first id>,<how many>,<lease in ms>;..." up to 48 of them
	-- reply per name: the sum of 2^k for each hold k, from 0, of which all permits are there; a fault
	local now = clock()
	return each(#KEYS, function(i)
		call('ZREM', KEYS[i], '') -- unchecked: it removes nothing; after this first write Redis allows the others at maxmemory
		local there, bit = 0, 1
		for first, n, lease in string.gmatch(ARGV[i + 1], '(%d+),(%d+),(%d+);') do
			local whole, ends = true, now + tonumber(lease)
			for _, one in ipairs(ids(ARGV[1], first, n)) do
				local score = call('ZSCORE', KEYS[i], one)
				if type(score) == 'table' then
					local code = lostor(score, KEYS[i])
					if code ~= -1 then return code end
					score = false
				end
				if not score then
					whole = false
				else
					local refused = extend(KEYS[i], one, score, ends)
					if refused then return refused end
				end
			end
			if whole then there = there + bit end
			bit = bit * 2
		end
		return there
	end)
end
