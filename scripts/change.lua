-- change.lua: change numbers, the permits of semaphores or the counts of latches. VERB, which stands before this text, says how.
-- KEYS per name                     semaphore or latch, an integer; of permit_set and permit_delete the permits that are held, a sorted set; this
--                                   engine's receipt; of verbs that may add permits the line or the semaphore again
-- ARGV[1], ARGV[2]                  PUBLISH, SPUBLISH or BOTH; notAfter
-- ARGV[3i], ARGV[3i+1], ARGV[3i+2]  number of the call; permits, or the count, of set_permits also "permits,ms to live"; channel
-- reply per name: LATE - now; a fault; or by verb:
--   give, add_permits, permit_add   subscribers woken, >= 0; -2 changed, but this user may not publish
--   permit_set                      the same; 0 there were so many
--   set_permits, set_count          1 set; 0 there was a number, perhaps 0 or less
--   drain_permits                   how many they were, negative when they were below 0
--   count_down                      0 counted, or there is no latch
--   delete_count, delete_permits    1 deleted; 0 there was none
--   permit_delete                   the same
local HELD = VERB == 'permit_set' or VERB == 'permit_delete'
local DELETES = string.find(VERB, 'delete', 1, true)
local LINED = VERB == 'give' or VERB == 'add_permits' or VERB == 'set_permits' or VERB == 'permit_add' or VERB == 'permit_set'
local tardy = late(ARGV[2])
if tardy then return tardy end

-- announce publishes the message, if any, and calls the line, if any, for the free permits.
local function announce(line, channel, message, free)
	local heard = message and publish(ARGV[1], channel, message) or 0
	if line then summon(line.key, line.leads, ARGV[1], channel, free, line.now, heard) end
	return heard
end

-- setOnce gives a name a number if it has none. by is "number" or "number,ms to live".
local function setOnce(key, receipt, line, id, there, by, channel)
	if there then return note(receipt, id, 0) or 0 end
	local number, life = string.match(by, '^(%d+),?(%d*)$')
	return once(receipt, id, 1, function()
		if life ~= '' then return call('SET', key, number, 'PX', life) end
		return call('SET', key, number)
	end, function()
		if LINED then
			announce(line, channel, number, tonumber(number))
		else
			publish(ARGV[1], channel, '1') -- the waiters look again
		end
		return 1
	end)
end

-- change changes one name. n is its number, there whether it has one, taken how many permits are held, by how many permits to add or how far
-- to count down.
local function change(key, held, receipt, line, id, n, there, taken, by, channel)
	if VERB == 'give' then -- creates the semaphore if there is none
		if n + tonumber(by) >= EXACT then return RANGE end
		mayGrow(receipt)
		return once(receipt, id, 0, function() return call('INCRBY', key, by) end, function(now)
			return announce(line, channel, string.format('%.0f', now), now)
		end)
	elseif VERB == 'count_down' then -- a latch that reaches 0 is deleted, and its waiters are woken
		mayGrow(receipt)
		return once(receipt, id, 0, function()
			if n > tonumber(by) then return call('DECRBY', key, by) end
			return call('DEL', key)
		end, function()
			if n > 0 and n <= tonumber(by) then publish(ARGV[1], channel, '0') end
			return 0
		end)
	elseif VERB == 'set_permits' or VERB == 'set_count' then
		return setOnce(key, receipt, line, id, there, by, channel)
	elseif VERB == 'drain_permits' then
		if not there then return note(receipt, id, 0) or 0 end
		if n <= FAULT then return RANGE end -- no answer is so low
		return once(receipt, id, n, function() return call('SET', key, '0') end)
	elseif VERB == 'permit_set' then -- by counts the taken ones, too; it is the message, as Redisson's
		local more = tonumber(by) - taken - n
		if there and more == 0 then return note(receipt, id, 0) or 0 end
		return once(receipt, id, 0, function() return call('INCRBY', key, string.format('%.0f', more)) end, function()
			return announce(line, channel, by, n + more)
		end)
	elseif DELETES then -- waiters for permits go on waiting
		if not there and taken == 0 then return note(receipt, id, 0) or 0 end
		mayGrow(receipt)
		return once(receipt, id, 1, function() return call('DEL', key, held or key) end, function()
			if VERB == 'delete_count' then publish(ARGV[1], channel, '1') end
			return 1
		end)
	end
	-- add_permits and permit_add: up or down, also below 0. The key loses its TTL. The message of a semaphore is its new number; that of
	-- permits that expire is how many were added, and there is none if permits were taken away.
	local sum = n + tonumber(by)
	if math.abs(sum) >= EXACT then return RANGE end
	local number = string.format('%.0f', sum)
	local message = number
	if VERB == 'permit_add' then message = tonumber(by) > 0 and by end
	return once(receipt, id, 0, function() return call('SET', key, number) end, function()
		return announce(line, channel, message, sum)
	end)
end

local width = 2 + (HELD and 1 or 0) + (LINED and 1 or 0)
return each(#KEYS / width, function(i)
	local at, id = width * (i - 1) + 1, ARGV[3 * i]
	local key, held, receipt, line = KEYS[at], HELD and KEYS[at + 1], KEYS[at + (HELD and 2 or 1)], LINED and KEYS[width * i]
	local before = earlier(receipt, id)
	if before then return before end
	local n, there = number(key)
	if not n and not (DELETES and there == RANGE) then return there end
	local leads = line and line ~= key and call('EXISTS', line) ~= 0 and first(line)
	local now = leads and moment() -- without the right to TIME nobody is called
	line = now and { key = line, leads = leads, now = now }
	local taken = held and call('ZCARD', held) or 0
	if type(taken) == 'table' then return fault(taken, held) end
	return change(key, held, receipt, line, id, n, there, taken, ARGV[3 * i + 1], ARGV[3 * i + 2])
end)
