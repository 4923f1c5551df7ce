-- count.lua: read the numbers of names without owners, by VERB: count the permits of a semaphore or the count of a latch; permit_count the
-- free and the held permits of one name; look the counts of latches.
-- KEYS            the name; of permit_count permits, an integer, and those held, a sorted set; of look latches, many
-- ARGV            of permit_count PUBLISH, SPUBLISH or BOTH, and the channel
-- reply {code, number, held}: code 0, or a fault; number 0 when there is none; held of permit_count alone
--       of look per name: the count, 0 when there is no latch; a fault
if VERB == 'look' then
	return each(#KEYS, function(i)
		local left, bad = number(KEYS[i])
		if not left then return bad end
		return math.max(left, 0)
	end)
end
local bad = VERB == 'permit_count' and reclaim(KEYS[1], KEYS[2], ARGV[1], ARGV[2], clock())
if bad then return { bad, 0, 0 } end
local free, wrong = number(KEYS[1])
if VERB == 'count' then return { free and 0 or wrong, free or 0 } end
if not free then return { wrong, 0, 0 } end
local held = call('ZCARD', KEYS[2])
if type(held) == 'table' then held = 0 end -- it was emptied just now, and its hash slot is moving
return { 0, free, held }
