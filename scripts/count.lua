-- count.lua: read the numbers of names without owners. Each block is the script of a verb (compose.go).

if VERB == 'look' then
	-- look tells the counts of latches.
	-- KEYS[i] latch
	-- reply per name: the count, 0 when there is no latch; a fault
	return each(#KEYS, function(i)
		local left, bad = number(KEYS[i])
		if not left then return bad end
		return math.max(left, 0)
	end)
end

if VERB == 'count' then
	-- count tells the permits of a semaphore or the count of a latch.
	-- KEYS[1] semaphore or latch
	-- reply {code, number}: code 0, or a fault; number 0 when there is none
	local left, wrong = number(KEYS[1])
	return { left and 0 or wrong, left or 0 }
end

if VERB == 'permit_count' then
	-- permit_count tells how many permits are free and how many are held.
	-- KEYS[1] permits, an integer   KEYS[2] those held, a sorted set
	-- ARGV    PUBLISH, SPUBLISH or BOTH; channel
	-- reply {code, number, held}: as count
	local bad = reclaim(KEYS[1], KEYS[2], ARGV[1], ARGV[2], clock())
	if bad then return { bad, 0, 0 } end
	local free, wrong = number(KEYS[1])
	if not free then return { wrong, 0, 0 } end
	local held = call('ZCARD', KEYS[2])
	if type(held) == 'table' then held = 0 end -- it was emptied just now, and its hash slot is moving
	return { 0, free, held }
end
