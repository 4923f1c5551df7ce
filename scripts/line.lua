-- line.lua: the line of waiting engines. It is put between prelude.lua and the scripts of locks for which engines stand in line.
--
-- An engine that is refused a lock gets a place in a sorted set beside it, ordered by arrival: "<owner> <code>". An owner has one place. A
-- release removes the first place, gives the lock to its owner, and publishes a - and the code in the engine's inbox, a channel that only
-- this engine listens to. So a release concerns one engine, however many wait. The fraction of the score says for how long the lock is given:
-- for the longest lease that was asked for at this place, GIFT at most.
--
-- WOKEN in place of a code, as earlier versions leave it: no message proves anything to the engine. It is told to ask, and finds that it has the lock.
-- READER in place of a code: it waits to read, and is given nothing. The readers before the first writer are told at once, writers in line leave
-- the lock to them for TOLD, and each that has begun to read tells the first place if that is a reader's, too. An owner that ends in ":write" is
-- the writer of a read-write lock.
--
-- Other clients wait without a place: those of Redisson listen to the lock's channel, pollers leave no trace. After a TURN, or a LONG if nobody
-- listens, a release frees the lock for them, publishes as Redisson does, and tells the first place to ask after a pause. A release of a
-- simple lock says itself how long the turn is. The member SINCE, behind all places, has the time at which the turn began, or of a simple
-- lock the time until which it is left to others. It outlasts the places, for STANDS at most, if the owner that was given the lock loses it.
local GIFT = 10000 -- ms that a lock is given for at most (gate.giftTime)
local UNIT = 16384 -- of the fraction of a score: that many ms are 1
local TOLD = 500 -- ms that writers leave a free lock to the reader that was told of it: its round trip may take that long
local EARLIER = 2000 -- ms for which earlier versions are given a lock, whose scores have no fraction
local ROUND, WAY = 500, 140 -- ms: so often, and for so long, readers make way for those who listen (gate.pollWindow)
local STANDS = 60000 -- ms that a line lasts after its last question
local TURN = 100 -- ms between two pauses for others, while some listen to the lock's channel
local LONG = 1660 -- ms, while nobody does: a poller, which nobody sees, gets in by chance
local DEAD = 1000 -- places of dead engines that one call removes from a line: 5 to 8 ms on 2 cores beside other work, 2026-11-26
local STANDING = -8796093022208 -- -(2^43): a refusal that leaves a place, see codes.go
local GIVEN = 1125899906842625 -- 2^50 + 1
local PLACE = 4294967296 -- 2^32: a place in line, in a reply that counts listeners, too
local READER, WOKEN, SINCE = '0', '1', 'since'
local RUN = 32 -- the most readers that are told at once, and how far into the line a reader looks for a writer
local MANY = 17 -- a lock with more fields is not searched for outside owners
local BEHIND = 4503599627370496 -- 2^52: the score of SINCE is this plus a time in ms
local FREE, PAUSE = '0', '1' -- messages: ask now; ask after a pause

-- SELDOM: see prelude.lua.

-- Places in the line. outside is of locks that are hashes: simple_line.lua has that of strings.

-- first returns the first place and its score, or nil. An empty line loses SINCE.
local function first(line)
	local found = call('ZRANGE', line, 0, 0, 'WITHSCORES') -- an error has none
	if found[1] ~= SINCE then return found[1], found[2] end
	call('ZREM', line, SINCE) -- unchecked: SINCE ends with the line
end

-- places counts the places.
local function places(line)
	local n = call('ZCARD', line)
	if type(n) == 'table' or n == 0 then return 0 end
	return call('ZRANGE', line, -1, -1)[1] == SINCE and n - 1 or n
end

-- waiting returns a PLACE for each place. line is the lock again if the lock has no line.
local function waiting(lock, line)
	return line == lock and 0 or PLACE * places(line)
end

-- outside reports whether an owner of the lock may be another client than an engine. Engines have UUIDs of version 8, clients of Redisson of
-- version 4.
local function outside(lock)
	local n = call('HLEN', lock)
	local fields = type(n) == 'number' and n <= MANY and call('HGETALL', lock) or {}
	for f = 1, #fields, 2 do
		local owner = string.gsub(fields[f], ':write$', '')
		if owner ~= 'mode' and not string.find(owner, '^%x+%-%x+%-8%x+%-%x+%-%x+:%d+$') then return true end
	end
	return #fields == 0
end

-- read parses a place: it returns its owner, its code, and the inbox of its engine.
local function read(place, channel)
	local engine, number, code = string.match(place, '^([^: ]+):(%d+%S*) (%d+)$')
	if engine then return engine .. ':' .. number, code, channel .. ':wheellock:' .. engine end
end

-- gone removes the first place, of a dead engine, and returns the next one and its score, or nil.
local function gone(line, place)
	if call('ZREM', line, place) == 1 then return first(line) end
end

-- overtake removes the places before this one that belong to dead engines or to the same engine, up to the first that does not. It returns the
-- first place then.
local function overtake(line, place, ahead, how, channel)
	local _, _, own = read(place, channel)
	for _ = 1, DEAD do
		if not ahead or ahead == place then break end
		local _, _, inbox = read(ahead, channel)
		if inbox and inbox ~= own then
			local heard, unsure = listeners(how, inbox)
			if heard > 0 or unsure then break end
		end
		ahead = gone(line, ahead)
	end
	return ahead
end

-- score puts a place at this number in the line, with a lease in ms, and reports whether it stands there.
local function score(line, place, number, lease)
	return type(call('ZADD', line, string.format('%.17g', number + math.min(lease, GIFT) / UNIT), place)) == 'number'
end

-- join puts a place at the end of the line, with a lease in ms; 0: nothing is given to it. It reports whether the place stands, and whether
-- it is the only one.
local function join(line, place, lease)
	local last = call('ZRANGE', line, -2, -1, 'WITHSCORES') -- one of these two members is the last place
	local at = last[3] == SINCE and last[2] or last[1] ~= SINCE and (last[4] or last[2])
	return score(line, place, math.floor(math.max(tonumber(at or 0), 0)) + 1, lease), not at
end

-- stand puts a place at the end of the line, unless it stands already, and extends the line's TTL. It returns what is added to the refusal:
-- STANDING; once more if the place is new; twice more if it is the first and its engine must listen to the lock's channel, because the lock's
-- owner is no engine. 0: there is no place, or it is given for less than this lease. A mutex may leave out the channel.
local function stand(lock, line, owner, code, lease, how, channel)
	local place = owner .. ' ' .. code
	local found, leads = call('ZSCORE', line, place), nil
	if type(found) == 'table' then return 0 end
	lease = tonumber(lease)
	if found then
		local number, part = math.floor(found), found % 1
		if code == READER then
			if part ~= 0 then score(line, place, number, 0) end -- it has asked, and is told again. Unchecked: without it the next release removes the place
		elseif part * UNIT < math.min(lease, GIFT) and not score(line, place, number, lease) then return 0 end
		local ahead = first(line)
		if ahead ~= place and outside(lock) then
			channel = channel or 'redisson_lock__channel:' .. tagged(lock)
			ahead = overtake(line, place, ahead, how, channel)
		end
		leads = ahead == place
	else
		local stands, alone = join(line, place, code == READER and 0 or lease)
		if not stands then return 0 end
		leads = alone
	end
	if call('PEXPIRE', line, STANDS) ~= 1 then
		if not found then call('ZREM', line, place) end -- unchecked: an engine that is given a lock in vain gives it back
		return 0
	end
	return STANDING * (1 + (found and 0 or 1) + (leads and outside(lock) and 2 or 0))
end

-- tell publishes a message to the first place, from this one on, that has a living engine; from a reader's place also to the readers behind it.
local function tell(line, place, how, channel, message)
	for _ = 1, DEAD do
		if not place then return end
		local owner, code, inbox = read(place, channel)
		if owner and publish(how, inbox, message) ~= 0 then
			for _, behind in ipairs(code == READER and call('ZRANGE', line, 1, RUN - 1) or {}) do
				_, code, inbox = read(behind, channel)
				if code ~= READER then return end
				publish(how, inbox, message)
			end
			return
		end
		place = gone(line, place)
	end
end

-- forget removes the place of an owner, and answers 1 if it stood.
local function forget(line, owner, code)
	return call('ZREM', line, owner .. ' ' .. code) -- unchecked: an engine that is given a lock in vain gives it back
end

-- leave does the same for an owner that has given up. If another place is the first then, it is told to ask.
local function leave(line, owner, code, how, channel)
	local led = first(line)
	local left = forget(line, owner, code)
	local leads = first(line)
	if leads ~= led then tell(line, leads, how, channel, FREE) end
	return left
end

-- Giving a lock to a place. put and withdraw are of locks that are hashes: simple_line.lua has those of strings.

-- put makes an owner the owner of a free lock for lease ms, and reports whether it has.
local function put(lock, owner, lease)
	local writes = string.find(owner, ':write', 1, true)
	local made = writes and call('HSET', lock, 'mode', 'write', owner, '1') or call('HSET', lock, owner, '1')
	return type(made) == 'number' and not bound(lock, lease, owner, 'mode')
end

-- toldBefore notes that the first place is told of a free lock, if it is a reader's. If it was told before, it is removed: its engine may be stopped,
-- and gets another place when it asks. The fraction of a reader's score says when it was told. It returns the first place then, and its score.
local function toldBefore(line, place, at, now)
	local _, code = read(place, '')
	if code ~= READER then return place, at end
	if at % 1 == 0 then
		score(line, place, at, now % GIFT + 1) -- 0 is none. Unchecked: without it the reader is told once more, and writers come first
		return place, at
	end
	call('ZREM', line, place) -- unchecked: if it stands it is told once more
	return first(line)
end

-- withdraw takes a lock back from an owner that was not told of it.
local function withdraw(lock, owner)
	call('HDEL', lock, owner, 'mode') -- unchecked: its lease is GIFT at most
end

-- give gives a free lock to the first place, from this one on, that has a living engine, and reports whether it has. If that is a reader's, the
-- readers are told, and their places stand. Without a subscriber at this node no lock is given: the engine may listen at another node of the
-- cluster, so it is told to ask. Without the right to PUBSUB the first that hears it is told to ask, and goes to the end.
local function give(lock, line, place, at, how, channel)
	for _ = 1, DEAD do
		if not place then return false end
		local owner, code, inbox = read(place, channel)
		local heard, unsure = 0, false
		if owner then heard, unsure = listeners(how, inbox) end
		if code == READER and (heard > 0 or unsure) then
			tell(line, place, how, channel, FREE)
			return false
		end
		local lease = at % 1 == 0 and EARLIER or at % 1 * UNIT
		local out = call('ZREM', line, place) == 1 -- first, so that no code is published twice
		if out and heard > 0 and put(lock, owner, string.format('%.0f', lease)) then
			if publishCode(how, inbox, code == WOKEN and FREE or '-' .. code) then return true end
			withdraw(lock, owner)
		end
		unsure = owner and publish(how, inbox, FREE) ~= 0 and unsure
		if heard == 0 and unsure then join(line, place, lease) end -- unchecked: without it the engine gets a place when it asks
		if heard > 0 or unsure or not out then return false end
		place, at = first(line)
	end
end

-- Turns. endTurn is of locks whose others listen: simple_line.lua has that of locks for which others poll.

-- moment returns the server's time in milliseconds, or nil if this user may not ask for it. It raises no error: the lock has lost its owner,
-- and a waiter must be told.
local function moment()
	local now = call('TIME')
	return now[1] and now[1] * 1000 + math.floor(now[2] / 1000)
end

-- listened reports whether others may listen to the lock's channel. An engine does only while the lock's owner is none.
local function listened(how, channel)
	local heard, unsure = listeners(how, channel)
	return heard > 0 or unsure
end

-- endTurn makes the next release begin a turn.
local function endTurn(line)
	call('ZREM', line, SINCE) -- unchecked: without it the next release frees the lock, too
end

-- ageTurn makes the turn as old as TURN, so that the next release leaves the lock to others that listen.
local function ageTurn(line)
	call('ZADD', line, string.format('%.0f', moment() - TURN + BEHIND), SINCE) -- unchecked: without it that release tells the first place to ask at once
end

-- giveOrFree gives a lock that its owner has left to the first place in its line, or, when a turn is over, frees it for others and publishes the
-- message, if there is one. turn, in ms, is nil but for simple locks. It answers GIVEN, or how many subscribers received the message and a
-- PLACE for each place. The former owner may still have a place, at which nobody waits, if it took the lock while the hash slot was moving.
-- Without the right to TIME each release frees the lock.
local function giveOrFree(lock, line, how, channel, left, message, turn)
	local free = message and how or 'NONE'
	local place, at = first(line)
	if place and string.find(place, left .. ' ', 1, true) == 1 then place, at = gone(line, place) end
	if not place then return publish(free, channel, message) end
	local now, since = moment(), tonumber(call('ZSCORE', line, SINCE))
	local lasts = not now and LONG or since and now - since + BEHIND or 0 -- below 0 if the clock was put back
	local ends = lasts < 0 or lasts >= (turn or LONG) or not turn and lasts >= TURN and listened(how, channel)
	local standing = not ends and call('EXISTS', lock)
	if ends then
		endTurn(line, now, lasts)
		tell(line, place, how, channel, PAUSE)
	elseif standing == 0 then
		if not since then -- before the place is removed: with its last member the line would be deleted, and made anew without a TTL
			call('ZADD', line, string.format('%.0f', now + BEHIND), SINCE) -- unchecked: without it the next release begins the turn
		end
		place, at = toldBefore(line, place, at, now)
		if give(lock, line, place, at, how, channel) then return GIVEN end
		if not since then call('ZREM', line, SINCE) end -- unchecked: with it the lock is freed once more
	elseif standing ~= 1 then -- refused: the hash slot is leaving this node, and the lock is taken at the other from now on
		tell(line, place, how, channel, FREE)
	end
	local heard = publish(free, channel, message)
	return heard < 0 and heard or heard + PLACE * places(line)
end

-- warn tells the first place to ask if an owner is left that is no engine: the answer says that it must listen to the lock's channel.
local function warn(lock, line, how, channel)
	if outside(lock) then tell(line, first(line), how, channel, FREE) end
end

-- Readers and writers in one line.

-- tellReaders tells the readers before the first writer with a living engine that they may read.
local function tellReaders(line, how, channel)
	local place = first(line)
	local _, code, inbox = read(place or '', channel)
	if code == READER or inbox and listeners(how, inbox) == 0 then tell(line, place, how, channel, FREE) end
end

-- follow tells the first place that it may read, too, if it is a reader's: it may not have been told with the others.
local function follow(line, how, channel)
	local place = first(line)
	for _ = 1, DEAD do
		local _, code, inbox = read(place or '', channel)
		if code ~= READER or publish(how, inbox, FREE) ~= 0 then return end
		place = gone(line, place)
	end
end

-- leftToReader returns for how many ms writers leave a free lock to the reader at the first place, which was told. 0: they do not.
local function leftToReader(line)
	local place, at = first(line)
	local _, code = read(place or '', '')
	local now = code == READER and at % 1 ~= 0 and moment()
	return now and math.max(TOLD - (now + 1 - at % 1 * UNIT) % GIFT, 0) or 0
end

-- makesWay returns for how many ms more readers beside others leave the lock to clients that listen to its channel and may be writers of
-- Redisson: all engines at the same times, by the server's clock. 0: they do not, nor without the right to TIME.
local function makesWay()
	local now = moment()
	return now and math.max(WAY - now % ROUND, 0) or 0
end

-- passes reports whether a reader with that place, or without one, would pass a writer in line with a living engine. It removes the places of
-- dead writers; then the first of the readers behind them is told that it may read.
local function passes(line, own, how, channel)
	local alive, cleared = false, false
	for _, place in ipairs(call('ZRANGE', line, 0, RUN - 1)) do
		if alive or place == own then break end
		if string.find(place, ':write ', 1, true) then
			local _, _, inbox = read(place, channel)
			local heard, unsure = listeners(how, inbox)
			alive = heard > 0 or unsure
			cleared = not alive and call('ZREM', line, place) == 1 or cleared
		end
	end
	if cleared and first(line) ~= own then follow(line, how, channel) end
	return alive
end
