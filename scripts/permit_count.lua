-- permit_count.lua: how many permits are free, and how many are held, of one name.
-- KEYS[1], KEYS[2]  permits, an integer; those held, a sorted set
-- ARGV[1], ARGV[2]  PUBLISH, SPUBLISH or BOTH; channel
-- reply {code, free, held}: code 0, or a fault
local bad = reclaim(KEYS[1], KEYS[2], ARGV[1], ARGV[2], clock())
if bad then return { bad, 0, 0 } end
local free, wrong = number(KEYS[1])
if not free then return { wrong, 0, 0 } end
local held = call('ZCARD', KEYS[2])
if type(held) == 'table' then held = 0 end -- it was emptied just now, in a hash slot on its way
return { 0, free, held }
