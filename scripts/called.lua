-- called.lua: the line of a semaphore. It is put behind line.lua in the scripts of semaphores and permits.
--
-- Permits have no owner, so a release cannot give them to a waiting engine. Instead it calls the first place: that engine is told to ask, and
-- no other engine takes permits for CALL. If they are too few for it, it asks again and again for as long as it collects, and each of its
-- questions is a new call; then it has no place for a while. A place is "<uuid>:<wanted permits> WOKEN". The called place is the
-- first member of the line; its score is the negative time of the call. Clients of Redisson ignore calls and take what is free. SINCE has the
-- time at which an engine last found permits without being called: some client frees them and calls nobody. While such clients listen, the called
-- engine is told now and then to ask after a pause, or it would always be faster.
local CALL = 200 -- ms
local OTHERS = 5000 -- ms for which that client is expected to free more
local LATER = '2' -- message: it is called, and asks after a pause
local SLOT = 40 -- ms: others come first in half of such slots

-- SELDOM: see prelude.lua.

-- called returns the called place, or nil. A place is removed if its engine has not asked within CALL.
local function called(line, now)
	local place = call('ZRANGE', line, 0, 0, 'WITHSCORES')
	local at = tonumber(place[2]) or 0
	if at >= 0 then return nil end
	if now + at >= 0 and now + at < CALL then return place[1] end -- false if the clock was put back
	call('ZREM', line, place[1]) -- unchecked: then it goes later
end

-- forHowMany returns how many permits a place is for, and the inbox of its engine. nil: the place is of a lock that had the name before.
local function forHowMany(place, channel)
	local owner, _, inbox = read(place, channel)
	return tonumber(string.match(owner or '', '%d+$') or ''), inbox
end

-- othersFirst reports whether permits that come free now are left to others: some listen, and it is their slot. Slots of theirs are half of every stretch
-- of time: the golden ratio keeps step with no interval between releases.
local function othersFirst(heard, now)
	return heard > 0 and math.floor(now / SLOT) * 0.6180339887 % 1 < 0.5
end

-- summon calls the first place that has a living engine. If a place is called already, it is told when what it collects is enough. If summon
-- calls none and the first place has changed (it was led), it tells the new first place. heard is how many the message of a release has reached.
local function summon(line, led, how, channel, free, now, heard)
	local place, at = called(line, now), 0
	if place then
		local wants, inbox = forHowMany(place, channel)
		if wants and wants > 1 and wants <= free then publish(how, inbox, FREE) end
		return
	end
	for _ = 1, free > 0 and DEAD or 0 do
		place = call('ZRANGE', line, at, at)[1] -- an error has none
		if not place then break end
		local wants, inbox = forHowMany(place, channel)
		if wants and publish(how, inbox, othersFirst(heard or 0, now) and LATER or FREE) ~= 0 then
			call('ZADD', line, 'XX', string.format('%.0f', -now), place) -- unchecked: without it the first engine that asks takes them
			return
		end
		if not wants or call('ZREM', line, place) ~= 1 then at = at + 1 end
	end
	local leads = first(line) -- after the dead have gone
	if leads ~= led then tell(line, leads, how, channel, PAUSE) end
end

-- turnOf returns what the line means for an engine that asks: its place (place, and own for the number it wants now), whether it is called
-- (mine) or another engine is (others). nil: there is no line, and the engine wants no place. A call to an older place of the same engine,
-- which it could not give up, counts as its own.
local function turnOf(line, engine, wants)
	local leads = first(line)
	if not leads and wants == '0' then return nil end
	local own = engine .. ':' .. wants .. ' ' .. WOKEN
	local turn = { line = line, leads = leads, now = clock(), own = own, place = own }
	local place = leads and called(line, turn.now)
	turn.mine = place and string.find(place, engine .. ':', 1, true) == 1
	turn.others = place and not turn.mine
	if turn.mine then turn.place = place end
	return turn
end

-- quit removes the engine's place, and calls the next one if permits are free.
local function quit(turn, how, channel, free)
	call('ZREM', turn.line, turn.place, turn.own) -- unchecked: a call in vain ends after CALL
	if first(turn.line) then summon(turn.line, turn.leads, how, channel, free, turn.now) end
end

-- tookTurn does the same for an engine that has taken permits, and notes in SINCE if it was not called.
local function tookTurn(turn, how, channel, free)
	if not turn.leads then return end
	if not turn.mine then
		call('ZADD', turn.line, string.format('%.0f', turn.now + BEHIND), SINCE) -- unchecked: SINCE is a hint
	end
	quit(turn, how, channel, free)
end

-- queue keeps the engine's place, or makes one, for the wanted permits, of which too few are free. It answers as stand does, plus 4 * STANDING
-- if the place is the first, and 8 * STANDING if it stays called. One that is called and does not collect has no place any more.
local function queue(turn, engine, wants, free, collects)
	local line, place, wanted = turn.line, turn.place, engine .. ':' .. wants .. ' ' .. WOKEN
	local stands, k = turn.leads and call('ZSCORE', line, place), 1
	if turn.mine and place == wanted and (collects or free <= 0) then
		call('ZADD', line, 'XX', free > 0 and string.format('%.0f', -turn.now) or '0', place) -- unchecked: then it loses its place later
		if free > 0 then k = 9 end
	elseif turn.mine then
		stands = call('ZREM', line, place) ~= 1
		if free > 0 and not collects then return 0 end
	elseif place ~= wanted then -- the number has changed: the place keeps its position. An unanswered call may have changed it already
		if type(stands) == 'string' then
			if call('ZREM', line, place) ~= 1 or call('ZADD', line, stands, wanted) ~= 1 then return 0 end
		else
			stands = turn.leads and call('ZSCORE', line, wanted)
		end
		if stands then place, k = wanted, 2 end
	end
	if not stands then
		place, k = wanted, 2
		if not join(line, place, 0) then return 0 end
	end
	if call('PEXPIRE', line, STANDS) ~= 1 then
		call('ZREM', line, place) -- unchecked: then it goes with its engine
		return 0
	end
	if first(line) == place then
		local since = tonumber(call('ZSCORE', line, SINCE))
		k = k + 4 + (since and turn.now - since + BEHIND < OTHERS and 2 or 0)
	end
	return STANDING * k
end

-- callOthers calls the line after a refusal, if permits are free that are too few for this engine.
local function callOthers(turn, how, channel, free)
	if turn.leads and not turn.others and free > 0 then summon(turn.line, turn.leads, how, channel, free, turn.now) end
end
