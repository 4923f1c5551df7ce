-- called.lua: is put behind line.lua in the scripts of semaphores, for which waiting engines stand in line, too.
--
-- Permits have no owner to whom a release could give them. So it calls the first place that they are enough for: that engine is told to
-- ask, and for CALL no other engine takes any. The place of an engine is "<uuid>:<permits that it wants> WOKEN"; the one that is called comes
-- first, with - the time of the call for its score. Clients of Redisson do not know of that, and take what they find. SINCE says when
-- permits were last taken for which nobody was called: then others free some that do not call.
local CALL = 200 -- ms
local OTHERS = 5000 -- ms that they are expected to free more

-- called is the place that is called; nil: there is none. One that has let its time go by loses its place.
local function called(line, now)
	local place = call('ZRANGE', line, 0, 0, 'WITHSCORES')
	local at = tonumber(place[2]) or 0
	if at >= 0 then return nil end
	if now + at >= 0 and now + at < CALL then return place[1] end -- not after the clock was put back
	call('ZREM', line, place[1]) -- unchecked: then it goes later
end

-- summon calls the first place that so many free permits are enough for and whose engine is alive, unless one is called. If none is, and
-- another place than led is the first now, that one is told so.
local function summon(line, led, how, channel, free, now)
	if called(line, now) then return end
	local at = 0
	for _ = 1, free > 0 and DEAD or 0 do
		local place = call('ZRANGE', line, at, at)[1] -- an error has none
		if not place then break end
		local owner, _, inbox = read(place, channel)
		local wants = tonumber(string.match(owner or '', '%d+$') or '') -- nil: the place is of a lock that had the name before
		local enough = wants and wants <= free
		if enough and publish(how, inbox, FREE) ~= 0 then
			call('ZADD', line, 'XX', string.format('%.0f', -now), place) -- unchecked: then whoever asks first takes them
			return
		end
		if not enough or call('ZREM', line, place) ~= 1 then at = at + 1 end
	end
	local leads = first(line) -- after the dead have gone
	if leads ~= led then tell(line, leads, how, channel, PAUSE) end
end

-- turnOf is whose turn an engine finds that asks for permits, and its own place for so many; nil: there is no line, and it wants no place.
-- An engine may be called by an older place of its own, which it could not give up.
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

-- quit takes the engine's place out of the line. So many permits are left for those behind it.
local function quit(turn, how, channel, free)
	call('ZREM', turn.line, turn.place, turn.own) -- unchecked: who is called in vain is not called for long
	if first(turn.line) then summon(turn.line, turn.leads, how, channel, free, turn.now) end
end

-- served does that for an engine that has taken permits.
local function served(turn, how, channel, free)
	if not turn.leads then return end
	if not turn.mine then
		call('ZADD', turn.line, string.format('%.0f', turn.now + BEHIND), SINCE) -- unchecked: it only says whom to expect
	end
	quit(turn, how, channel, free)
end

-- queue keeps the engine's place, or gives it one, for so many permits. It answers what stand does, and STANDING four times more if the
-- place is the first.
local function queue(turn, engine, wants)
	local line, place, wanted = turn.line, turn.place, engine .. ':' .. wants .. ' ' .. WOKEN
	local stands, k = turn.leads and call('ZSCORE', line, place), 1
	if turn.mine and place == wanted then
		call('ZADD', line, 'XX', '0', place) -- unchecked: then it loses its place later
	elseif turn.mine then
		stands = call('ZREM', line, place) ~= 1
	elseif place ~= wanted then -- for another number it stands where it stood, or it has changed already, by a call without an answer
		if type(stands) == 'string' then
			if call('ZREM', line, place) ~= 1 or call('ZADD', line, stands, wanted) ~= 1 then return 0 end
		else
			stands = turn.leads and call('ZSCORE', line, wanted)
		end
		if stands then place, k = wanted, 2 end
	end
	if not stands then
		place, k = wanted, 2
		if not join(line, place) then return 0 end
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

-- callOthers calls the line after a refusal if some are free that are too few for this engine: their call has gone by, or they have come back.
local function callOthers(turn, how, channel, free)
	if turn.leads and not turn.others and free > 0 then summon(turn.line, turn.leads, how, channel, free, turn.now) end
end
