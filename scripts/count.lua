-- count.lua: the number of one name, a semaphore's permits or a latch's count.
-- KEYS[1]  the name
-- reply {code, number}: code 0, or a fault; number 0 when there is none
local n, bad = number(KEYS[1])
if not n then return { bad, 0 } end
return { 0, n }
