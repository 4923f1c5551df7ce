-- permit_renew.lua: prolong held permits.
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
