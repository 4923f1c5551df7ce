-- permits.lua: permits that expire. Each block is the script of a verb (compose.go).

if VERB == 'permit_take' then
	-- permit_take takes permits that expire for queued callers, in their order. A repeated call finds them taken under the same ids. If too few
	-- are free for the first caller, the engine gets a place in line (called.lua); a call without callers gives the place up.
	-- KEYS per name   permits, an integer; those held, a sorted set; this engine's receipt; the line or the permits again
	-- ARGV first      PUBLISH, SPUBLISH or BOTH; notAfter; the engine's 8 bytes; the engine's uuid
	-- ARGV per name   number of the call, and of the first id: the permits have it and those that follow; 1 if it was sent before, else 0; the
	--                 callers, "<permits>x<how many>x<lease in ms>,...", and "/n" behind them if the semaphore is to have n permits from now on;
	--                 the permits of its place, 0 for no place; 1 if it collects; channel
	-- reply per name: so many callers from the front have their permits, >= 1; -(ms+2) too few, or another engine is called, and the first held
	--                 permit ends in ms; -1 none of them ever ends; 0 there is no semaphore; plus STANDING times 1 to 16 if the place stands;
	--                 LATE - now; a fault
	local tardy = late(ARGV[2], now)
	if tardy then return tardy end

	-- still returns how many callers from the front have all their permits, which then last for the leases of this call; or a fault.
	local function still(held, receipt, engine, first, callers)
		local has, grows = 0, false
		for want, some, lease in string.gmatch(callers, '(%d+)x(%d+)x(%d+),') do
			for _ = 1, tonumber(some) do
				for _, one in ipairs(ids(engine, first, want)) do
					local score = call('ZSCORE', held, one)
					if not score then return has end
					grows = grows or mayGrow(receipt) or true
					local refused = type(score) == 'table' and fault(score, held) or extend(held, one, score, now + lease)
					if refused then return refused end
				end
				has, first = has + 1, first + want
			end
		end
		return has
	end

	local endOf = {} -- by the lease, as Redis is told
	return each(#KEYS / 4, function(i)
		if done[i] then return 1 end
		local key, held, receipt, line = KEYS[4 * i - 3], KEYS[4 * i - 2], KEYS[4 * i - 1], KEYS[4 * i]
		local id, again, callers, wants = ARGV[6 * i - 1], ARGV[6 * i] == '1', ARGV[6 * i + 1], ARGV[6 * i + 2]
		local collects, channel = ARGV[6 * i + 3] == '1', ARGV[6 * i + 4]
		local turn = line ~= key and (wants ~= '0' or lined and call('EXISTS', line) ~= 0) and turnOf(line, ARGV[4], wants)
		if callers == '' then
			if turn then quit(turn, ARGV[1], channel, number(key) or 0) end
			return -1
		end
		local before = earlier(receipt, id)
		if before and before < 1 then return before end
		if before or again or call('ZSCORE', held, ids(ARGV[3], id, 1)[1]) then -- asked again after a lost answer
			local has = still(held, receipt, ARGV[3], tonumber(id), callers)
			if has ~= 0 then return has > 0 and again and note(receipt, id, has) or has end
			if before then return -1 end -- taken, and over meanwhile
		end
		local free, there = number(key)
		if not free then return there end
		local limit = string.match(callers, '/(%d+)$')
		if limit then -- those that are held are some of the n: free may be below 0
			local out = call('ZCARD', held)
			if type(out) == 'table' then return fault(out, held) end
			local more = tonumber(limit) - out - free
			if more ~= 0 or not there then
				local reply = call('INCRBY', key, string.format('%.0f', more))
				if type(reply) == 'table' then return fault(reply, key) end
				if not there then call('PEXPIRE', key, IDLE) end -- unchecked: without it the number stays
				if more > 0 then publish(ARGV[1], channel, limit) end
				free = reply
			end
		end
		-- Those that have ended are looked for if the free ones are too few, or an engine waits.
		local most, ended = free, nil
		if turn then
			ended = turn.others and {} or over(held, now) or {}
			most = turn.others and 0 or free + #ended / 2
		end
		local served, n, added = 0, 0, {}
		for want, some, lease in string.gmatch(callers, '(%d+)x(%d+)x(%d+),') do
			if not ended and n + want * some > most then
				ended = over(held, now) or {}
				most = most + #ended / 2
			end
			local more = math.max(0, math.min(tonumber(some), math.floor((most - n) / want)))
			endOf[lease] = endOf[lease] or string.format('%.0f', now + lease)
			for at, one in ipairs(ids(ARGV[3], id + n, more * want)) do added[2 * (n + at) - 1], added[2 * (n + at)] = endOf[lease], one end
			served, n = served + more, n + more * want
			if more < tonumber(some) then break end
		end
		if served == 0 then
			local bad = reclaim(key, held, ARGV[1], channel, now)
			if bad then return bad end
			local ends = call('ZRANGE', held, 0, 0, 'WITHSCORES')
			free, there = number(key)
			local left = not there and 0 or ends[2] and tonumber(ends[2]) < 922337203685477 and -(tonumber(ends[2]) - now + 2) or -1
			if turn and wants ~= '0' then
				left = math.max(left, taken(EXACT)) + queue(turn, ARGV[4], string.match(callers, '%d+'), free, collects)
			end
			if turn then callOthers(turn, ARGV[1], channel, free) end
			return again and note(receipt, id, left) or left
		end
		return once(again and receipt, id, served, function() return call('DECRBY', key, string.format('%.0f', n)) end, function()
			local reply = call('ZADD', held, unpack(added))
			if type(reply) == 'table' then
				call('DECRBY', key, -n) -- unchecked: it was allowed just now
				return noted(again and receipt, id, fault(reply, held))
			end
			if reply < n then call('INCRBY', key, string.format('%.0f', n - reply)) end -- unchecked: it was allowed just now. Some were held already
			-- Last: in a hash slot on its way, a set that was emptied could not be filled again.
			if ended and #ended > 0 then reclaim(key, held, ARGV[1], channel, now) end -- unchecked: the next call does it
			outlast(key, held, limit)
			if turn then tookTurn(turn, ARGV[1], channel, number(key) or 0) end
			return served
		end)
	end)
end

if VERB == 'permit_free' then
	-- permit_free frees permits, also of other engines and of Redisson, and wakes the waiters.
	-- KEYS per name                     permits, an integer; those held, a sorted set; this engine's receipt; the line (called.lua) or the permits again
	-- ARGV[1], ARGV[2], ARGV[3]         PUBLISH, SPUBLISH or BOTH; notAfter; the engine's 8 bytes
	-- ARGV[4i] ... ARGV[4i+3]           number of the call; holds of this engine, as of permit_renew, and "0,<how many>,0;" for so many of the ids;
	--                                   ids, 16 bytes each; channel
	-- reply per name: the sum of 2^k for each hold k, from 0, of which a permit was there, or all of the ids: else none of them is freed; of more than
	-- 48 holds 1 all are freed, 0 none, because it would not be all; LATE - now; a fault
	local tardy = late(ARGV[2], now)
	if tardy then return tardy end

	local grows = false
	return each(#KEYS / 4, function(i)
		if done[i] then return 1 end
		local key, held, receipt, line, channel = KEYS[4 * i - 3], KEYS[4 * i - 2], KEYS[4 * i - 1], KEYS[4 * i], ARGV[4 * i + 3]
		local id, holds, given = ARGV[4 * i], ARGV[4 * i + 1], ARGV[4 * i + 2]
		local _, n = string.gsub(holds, ';', '')
		receipt = (n > 48 or given ~= '') and receipt
		local before = receipt and earlier(receipt, id)
		if before then return before end
		local free, bad = number(key)
		if not free then return bad end
		local there, removed, freed, answer, bit, last, missing = {}, {}, {}, 0, 1, 0, false -- removed: ids and scores in turn
		for first, some in string.gmatch(holds, '(%d+),(%d+),%d+;') do
			local had, whole, all = #there, first == '0', {}
			if whole then
				for at = 1, tonumber(some) do all[at], last = string.sub(given, last + 1, last + 16), last + 16 end
			else
				all = ids(ARGV[3], first, some)
			end
			for _, one in ipairs(all) do
				local score = not freed[one] and call('ZSCORE', held, one)
				if type(score) == 'table' then return fault(score, held) end
				if score and (not whole or tonumber(score) > now) then
					there[#there + 1] = one
					removed[#removed + 1], removed[#removed + 2] = one, score
				end
			end
			if #there == had + #all or not whole and #there > had then
				answer = answer + bit
				for at = had + 1, #there do freed[there[at]] = true end
			else
				missing = true
				for at = #there, had + 1, -1 do there[at], removed[2 * at], removed[2 * at - 1] = nil, nil, nil end
			end
			bit = bit * 2
		end
		if receipt then grows = grows or mayGrow(receipt) or true end
		if n > 48 then answer = missing and 0 or 1 end
		if answer == 0 then return note(receipt, id, 0) or 0 end
		return once(receipt, id, answer, function() return call('ZREM', held, unpack(there)) end, function(gone) -- an id that is given twice is removed once
			local sum = call('INCRBY', key, string.format('%.0f', gone))
			if type(sum) == 'table' then
				putBack(held, removed)
				return noted(receipt, id, fault(sum, key))
			end
			-- As Redisson: for one permit the message is how many are free now, for several how many were freed.
			local heard = publish(ARGV[1], channel, string.format('%.0f', gone == 1 and sum or gone))
			local leads = lined and line ~= key and call('EXISTS', line) ~= 0 and first(line)
			if leads then summon(line, leads, ARGV[1], channel, sum, now, heard) end
			return answer
		end)
	end)
end

if VERB == 'permit_renew' then
	-- permit_renew prolongs held permits.
	-- KEYS[i]             the held permits, a sorted set
	-- ARGV[1]             the engine's 8 bytes
	-- ARGV[i+1]           the holds: "<number of the first id>,<how many>,<lease in ms>;..."
	-- reply per name: the sum of 2^k for each hold k, from 0, of which all permits are there; of more than 48 holds 1 all of them are, 0 not all; a
	-- fault
	local now = clock()
	return each(#KEYS, function(i)
		call('ZREM', KEYS[i], '') -- unchecked: it removes nothing; after this first write Redis allows the others at maxmemory
		local there, bit, all = 0, 1, true
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
			all = all and whole
			bit = bit * 2
		end
		return bit > 281474976710656 and (all and 1 or 0) or there -- 2^48
	end)
end
