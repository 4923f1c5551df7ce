package planted

// bugs are those that there have been, and those that locks have been made with.
var bugs = []Bug{
	{"an acquire that counts, sent twice", []edit{
		{"scripts/acquire.lua", "		refused = prolong(lock, lease)\n", "		redis.call('HINCRBY', lock, owner, 1)\n"},
		{"scripts/release.lua", "local freed = call('HDEL', lock, owner)", "local freed = call('HEXISTS', lock, owner)\n" +
			"	if freed == 1 and redis.call('HINCRBY', lock, owner, -1) == 0 then freed = call('HDEL', lock, owner) end"},
	}},
	{"no second question once the subscription is confirmed", []edit{
		{"dispatcher/gate/lockevents.go", "noteMessage(now)\n		l.askAgain()\n", "noteMessage(now)\n"},
		{"dispatcher/gate/line.go", "subscribed\n		return true\n", "subscribed\n"},
	}},
	{"a deadline that counts from the answer", []edit{
		{"dispatcher/gate/lease.go", "c.Sent+lease-margin(lease))", "now+lease-margin(lease))"},
	}},
	{"a release that does not look at the owner", []edit{
		{"scripts/release.lua", "call('HDEL', lock, owner)", "call('DEL', lock)"},
	}},
	{"a token that INCR gives", []edit{
		{"scripts/tokens.lua", "math.max((tonumber(last) or 0) + block, micros)", "(tonumber(last) or 0) + block"},
	}},
	{"a renewal after the unlock", []edit{
		{"scripts/renew.lua", "	if mine == 0 then return -1 end", "	if mine == 0 then call('HSET', lock, owner, '1') end"},
		{"dispatcher/gate/keeping.go", "		l.endTurnIfOver(now, g, int64(c.Reply))\n", "		l.endTurnIfOver(now, g, int64(c.Reply))\n" +
			"		if g.ID%16 == 0 {\n			l.send(Renew, g.ID, g.LeaseTime, fx)\n		}\n"},
	}},
	{"a cancelled call that is forgotten", []edit{
		{"dispatcher/gate/granting.go", "	if !l.cfg.Answer(w, Outcome{}) {\n		h.end()\n		l.owners().forgetIdle(owner)\n		return false\n	}\n", "	l.cfg.Answer(w, Outcome{})\n"},
	}},
	{"a change that has its effect twice", []edit{
		{"scripts/counting.lua", "	if last == number then return tonumber(answer) end\n", "	if last == number then return nil end\n"},
	}},
	{"a reader let in beside the writer", []edit{
		{"scripts/acquire_rw.lua", "if not reads or found[1] == 'write' or line", "if not reads or line"},
	}},
	{"a writer that is given the lock as a reader would be", []edit{
		{"scripts/line.lua", "'mode', 'write', owner, '1')", "'mode', 'read', owner, '1')"},
	}},
	{"a confirmation in vain that is repeated at once", []edit{
		{"dispatcher/gate/keeping.go", "g.Doubt || g.handed", "g.handed"},
		{"dispatcher/pipeline.go", "pass < maxPasses && !n.out.empty()", "!n.out.empty()"},
		{"dispatcher/pipeline.go", "for end := len(o.commands[op]); o.heads[op] < end; {", "for o.heads[op] < len(o.commands[op]) {"},
	}},
	{"an acquire that ignores that its TTL was refused", []edit{
		{"scripts/acquire.lua", "		refused = prolong(lock, lease)\n", "		prolong(lock, lease)\n"},
	}},
	{"a loss that the loop is not told of", []edit{
		{"engine/hold.go", "		giveBack(c.close())\n		return\n", "		return\n"},
		{"engine/hold.go", "	h.e.dispatcher.Unlock(&h.core, nil)\n", ""},
	}},
	{"bytes of a server that are not looked at", []edit{
		{"dispatcher/respguard/guard.go", "		return guard(quietsocket.Wrap(conn)), nil\n", "		return quietsocket.Wrap(conn), nil\n"},
	}},
	{"parts of a lost MultiLock that nobody gives back", []edit{
		{"engine/hold.go", "		giveBack(c.close())\n		return\n", "		return\n"},
	}},
	{"a majority that nobody repairs", []edit{
		{"engine/quorumrepair.go", "	if h.Err() != nil {\n		return\n	}\n	c.mu.Lock()\n	r := ", "	if true {\n		return\n	}\n	c.mu.Lock()\n	r := "},
	}},
	{"a loss that is not final", []edit{
		{"engine/hold.go", "			return nil\n		}\n		h.lose(overdue(h))\n	}\n	return h.cause()", "			return nil\n		}\n		return ErrLost\n	}\n	return h.cause()"},
		{"engine/hold.go", "		h.lose(overdue(h))\n	}\n	stall.At", "		h.finish(gate.Lost)\n	}\n	stall.At"},
	}},
	{"a suspension that is noticed a second late", []edit{
		{"engine/hold.go", "if !h.over(h.e.clock.Checked()) {\n", "if !h.over(h.e.clock.Now()) {\n"},
	}},
	{"a server's clock that is taken for the middle of a round trip", []edit{
		{"dispatcher/redisconn/connection.go", "c.server.Learn(millis, c.cfg.Clock.Now())", "c.server.Learn(millis, (c.Batch[0].Sent+c.cfg.Clock.Now())/2)"},
		{"dispatcher/redisconn/load.go", "	results := client.DoMulti(ctx, commands...)\n	loaded.at = clock.Now()\n", "	began := clock.Now()\n	results := client.DoMulti(ctx, commands...)\n	loaded.at = (began + clock.Now()) / 2\n"},
	}},
	{"permits that are given back twice", []edit{
		{"scripts/permits.lua", "string.format('%.0f', gone))\n\t\t\tif", "string.format('%.0f', #there))\n\t\t\tif"},
	}},
	{"a limit that does not count the holds", []edit{
		{"scripts/permits.lua", "tonumber(limit) - out - free", "tonumber(limit) - free"},
	}},
	{"an extension of permits that counts by the answer to an earlier call", []edit{
		{"dispatcher/gate/permitsrenew.go", "ps.sent+p.lease-margin(p.lease))", "ps.sent+max(p.lease, p.extend)-margin(max(p.lease, p.extend)))"},
		{"dispatcher/gate/permitsrenew.go", "	if p.moments[byRenewal].in == 0 { // else", "	if ps.due.put(p.permit, Never); true { // else"},
	}},
	{"a hold found over, of which the loop is not told", []edit{
		{"engine/hold.go", "	h.e.dispatcher.Unlock(&h.core, nil)\n", ""},
	}},
	{"a TryLock whose lease is over when its answer comes, asked again", []edit{
		{"dispatcher/gate/contest.go", "	pause := tries.next(id)\n	c.answerWaiters(cfg, out)\n	if c.queue.head != nil {\n", "	pause := now - now\n	if c.rivals != &noRivals {\n"},
		{"engine/lockoption.go", "		wait = o.e.answerTime(ctx)\n", "		wait = 0\n"},
	}},
	{"a permit_take that ignores that a lease was refused", []edit{
		{"scripts/permits.lua", "extend(held, one, score, now + lease)\n					if refused then return refused end\n", "extend(held, one, score, now + lease)\n"},
	}},
	{"a number in a fair queue that is used again after its release", []edit{
		{"dispatcher/gate/keeping.go", "		l.joinAgain(f, now, g.ID)\n", ""},
		{"dispatcher/gate/fair.go", "w != nil && w.place != 0 { // else", "w != nil && w.place != 0 && w.place != l.lease.ID { // else"},
	}},
	{"a later waiter that stands before the first", []edit{
		{"scripts/fair_ask.lua", "	if first and first ~= me and place ~= 'TRY' and engineOf(first) == engine and goBack(l, me) then first = me end\n", ""},
		{"dispatcher/gate/lockevents.go", "		if f := l.contest.queue.fair; f != nil {\n			l.joinAgain(f, now, id)\n		}\n", ""},
	}},
	{"a place that comes back and is not given up", []edit{
		{"dispatcher/gate/fair.go", "		f.returning = l.lease.ID\n", ""},
	}},
	{"a least time that counts from an old reading of the clock", []edit{
		{"dispatcher/gate/stay.go", "if s.least > 0 && now > s.asked {", "if s.least > 0 {"},
		{"dispatcher/gate/stay.go", "s.least, s.asked = max(s.least, least), now\n", "s.least, s.asked = max(s.least, least), now\n	s.count(now)\n"},
	}},
	{"a least time that a crash cuts short", []edit{
		{"dispatcher/gate/waiter.go", "{ return max(lease, w.Least) }", "{ return lease }"},
		{"dispatcher/gate/granting.go", " && w.Least <= c.LeaseTime\n", "\n"},
	}},
	{"a lock that two adopt", []edit{
		{"scripts/pass.lua", "foreign() end\n		if not found[1] and not found[2] then return -1 end\n", "foreign() end\n"},
		{"scripts/pass.lua", "	local timed = gone == 1 and call", "	local timed = call"},
	}},
	{"an adoption without an answer that nobody releases", []edit{
		{"dispatcher/gate/adopt.go", "		r.trackAdopter(now, c, l.ops(g.write).release)\n", ""},
	}},
	{"a hold that its own engine adopts, with an owner that nobody releases", []edit{
		{"dispatcher/gate/adopt.go", "	r.orphans.add(old)\n", ""},
	}},
	{"an adoption of a hold of one's own engine that is turned away", []edit{
		{"dispatcher/gate/adopt.go", "l.cfg.Salt, g.ID)", "l.cfg.Salt, 0)"},
	}},
	{"a mutex that needs the key of its line while its slot is open", []edit{
		{"dispatcher/gate/operations.go", "InLine() && slices", "InLine() && false && slices"},
	}},
	{"a hold that lasts as long as its tenure", []edit{
		{"dispatcher/gate/hold.go", "at = min(at, t.Deadline)", "at = min(at, Never)"},
	}},
	{"an uncertain acquire that is not released when nothing can arrive any more", []edit{
		{"dispatcher/gate/tenure.go", "const LateWindow = 2 * time.Second", "const LateWindow = 2 * time.Hour"},
	}},
	{"a lease of what was given that counts from when it is heard of", []edit{
		{"dispatcher/gate/gift.go", "LeaseTime: p.gift, Sent: p.sent, Epoch", "LeaseTime: p.gift, Sent: now, Epoch"},
	}},
	{"a message that is taken for a code whatever it says", []edit{
		{"dispatcher/gate/gift.go", "!news.has(p.code)", "news.kept == 0"},
	}},
	{"a lock that is given for less than its place says", []edit{
		{"scripts/line.lua", "bound(lock, lease, owner, 'mode')", "bound(lock, 500, owner, 'mode')"},
	}},
	{"a place that a forced release does not end", []edit{
		{"dispatcher/gate/lockevents.go", "		r.forgetPlace(id)\n", ""},
	}},
	{"a place that nobody wants and nobody gives up", []edit{
		{"dispatcher/gate/advance.go", "		l.abandonPlace(now)  // its owner id is released below\n", ""},
	}},
	{"a place of a tenure that got no answer before", []edit{
		{"dispatcher/gate/gift.go", "if r.orphans.of(id) < 0 {", "if o := r.orphans.of(id); o < 0 || r.orphans[o].owner == \"\" {"},
	}},
	{"a place that was freed by force and is asked for again", []edit{
		{"dispatcher/gate/gift.go", "if r.orphans.of(id) < 0 {", "if o := r.orphans.of(id); o < 0 || r.orphans[o].owner != \"\" {"},
	}},
	{"a least time under what is left of a gift", []edit{
		{"dispatcher/gate/gift.go", "	acquire.LeaseTime = g.Deadline - now // what is left of it\n", ""},
	}},
	{"a place that nobody waits at and that stands", []edit{
		{"dispatcher/gate/gift.go", "	r.orphans.leaveLine(now) // or a release would give the lock to it\n", ""},
		{"dispatcher/gate/line.go", "		r.orphans.leaveLine(now)\n", ""},
	}},
	{"a code that counts although its owner came into line twice", []edit{
		{"dispatcher/gate/line.go", "		!fresh && place.New, // it was given the lock, or lost its place\n", ""},
		{"dispatcher/gate/gift.go", "	p.code = 0\n", ""},
		{"dispatcher/gate/line.go", "		!fresh && r.place.code == 0,\n", ""},
	}},
	{"a place of a tenure that is to be released, and that a refusal without a place keeps", []edit{
		{"dispatcher/gate/line.go", "			r.endPlace(now, asked.ID)\n", ""},
	}},
	{"a code of a claim that its next question has, too", []edit{
		{"dispatcher/gate/fair.go", "args.Code = l.cfg.claimCode()", "args.Code = l.cfg.Codes.Code(claims | w.place&0xffff)"},
	}},
	{"a code of an owner id that came into line by an acquire without an answer", []edit{
		{"dispatcher/gate/line.go", "	case fresh && (!place.New || r.place.doubted == asked.ID), // it came into line before, by an acquire without an answer\n", "	case fresh && false,\n"},
		{"dispatcher/gate/line.go", "	if p.id == asked.ID {\n		p.code = 0\n	}\n", ""},
	}},
	{"a second place of an engine when its first waiter believes no message", []edit{
		{"dispatcher/gate/asking.go", "		code = l.cfg.Codes.Code(g.ID)\n", "		if code = l.cfg.Codes.Code(g.ID); !l.contest.queue.head.acceptsGift() {\n			code = 1\n		}\n"},
	}},
	{"a line without an end", []edit{
		{"scripts/line.lua", "		if not since then -- before the place is removed", "		if false then -- before the place is removed"},
		{"scripts/line.lua", "then return GIVEN end\n", "then call('ZADD', line, string.format('%.0f', now + BEHIND), SINCE) return GIVEN end\n"},
	}},
	{"a lock that is given to the second in line", []edit{
		{"scripts/line.lua", "if give(lock, line, place, at, how, channel) then", "local two = call('ZRANGE', line, 0, 1, 'WITHSCORES')\n		if give(lock, line, two[3] or place, two[4] or at, how, channel) then"},
	}},
	{"a lock that is given to a dead engine", []edit{
		{"scripts/line.lua", "if out and heard > 0 and put(", "if out and owner and put("},
	}},
	{"a lock that is given to a dead engine for its whole time", []edit{
		{"scripts/line.lua", "if out and heard > 0 and put(", "if out and owner and put("},
		{"scripts/line.lua", "if publishCode(how, inbox, code == WOKEN and FREE or '-' .. code) then", "if publishCode(how, inbox, code == WOKEN and FREE or '-' .. code) or true then"},
	}},
	{"a line whose places all are the first", []edit{
		{"scripts/line.lua", "math.floor(math.max(tonumber(at or 0), 0)) + 1, lease)", "1, lease)"},
	}},
	{"a place in a line that lasts for ever", []edit{
		{"scripts/line.lua", "	if call('PEXPIRE', line, STANDS) ~= 1 then\n		if not found", "	if false then\n		if not found"},
	}},
	{"a release that gives the lock and wakes everybody in line", []edit{
		{"scripts/line.lua", "leads and outside(lock) and 2 or 0", "2"},
		{"scripts/line.lua", "then return GIVEN end\n", "then publish(how, channel, FREE) return GIVEN end\n"},
	}},
	{"a lock that its owner gets back because it stands in line", []edit{
		{"scripts/line.lua", "if place and string.find(place, left .. ' ', 1, true) == 1 then place, at = gone(line, place) end", ""},
	}},
	{"a first in line that does not listen beside an outsider", []edit{
		{"scripts/line.lua", "leads and outside(lock) and 2 or 0", "0"},
	}},
	{"a waiter behind one that gives up beside an outsider", []edit{
		{"scripts/line.lua", "	if leads ~= led then tell(line, leads, how, channel, FREE) end\n", ""},
	}},
	{"a turn of others of which the first in line is not told", []edit{
		{"scripts/line.lua", "		tell(line, place, how, channel, PAUSE)\n", ""},
	}},
	{"a hint that is lost while a question is on its way", []edit{
		{"dispatcher/gate/line.go", "		}\n		l.askAgain()\n", "		}\n		if l.flight == None {\n			l.askAgain()\n		}\n"},
	}},
	{"a token that the given hold does not get anew", []edit{
		{"scripts/acquire.lua", "tokensof(counter, tonumber(ARGV[2]), ARGV[3], micros)", "tokensof(counter, mine and 0 or tonumber(ARGV[2]), ARGV[3], mine and 0 or micros)"},
	}},
	{"a fenced lock that takes its tokens from the message", []edit{
		{"dispatcher/gate/gift.go", "	if l.traits().fenced || l.lease.phase != free", "	if l.lease.phase != free"},
		{"dispatcher/gate/gift.go", "	g.Next = now + 50*time.Millisecond", "	r.tokens = tokens{news.Most - TokenBlock + 1, news.Most}\n	g.Next = now + 50*time.Millisecond"},
	}},
	{"a fair lock that is given to the second of its queue", []edit{
		{"scripts/fair_release.lua", "give(l, now, head, how, channel)", "give(l, now, at(l, 1) or head, how, channel)"},
	}},
	{"a change that is sent again when its receipt has run out", []edit{
		{"dispatcher/gate/sequenceranswers.go", "		s.call.LeaveBy = c.Sent + receiptTime // it may wait long for a connection, or the loop may stand still\n", ""},
	}},
	{"a holder that is never told of waiters of other processes", []edit{
		{"dispatcher/gate/wanted.go", "return places > 0 && c.Sent >= h.Since() || others > 0 && c.Sent >= h.Since()+listenerAge", "return places < 0 && others < 0"},
	}},
	{"a holder that is told of those who waited for an earlier one", []edit{
		{"dispatcher/gate/wanted.go", "others > 0 && c.Sent >= h.Since()+listenerAge", "others > 0"},
	}},
	{"a take that leaves permits and calls nobody", []edit{
		{"scripts/called.lua", "	quit(turn, how, channel, free)\n", "	call('ZREM', turn.line, turn.place)\n"},
	}},
	{"permits that are taken while another engine is called", []edit{
		{"scripts/called.lua", "turn.others = place and not turn.mine", "turn.others = false"},
	}},
	{"a release of permits that calls nobody", []edit{
		{"scripts/change.lua", "	if line then summon(line.key, line.leads, ARGV[1], channel, free, line.now, heard) end\n", ""},
	}},
	{"a place for permits that nobody gives up", []edit{
		{"dispatcher/gate/sequencer.go", "case s.place.permits != 0 && s.contest.queue.lasting() == 0:", "case s.place.permits < 0:"},
	}},
	{"a repeated take that is granted to all callers, whatever Redis has of theirs", []edit{
		{"dispatcher/gate/permits.go", "served := scripts.Reply(i) < c.Reply\n", "served := c.Reply > 0\n"},
	}},
	{"a call to the line that the answer to a release ends", []edit{
		{"dispatcher/gate/sequenceranswers.go", "s.again = s.again || s.contest.queue.head != nil && s.place", "s.again = s.contest.queue.head != nil && s.place"},
	}},
	{"a name refused in a wide call that counts as held by another", []edit{
		{"dispatcher/wire/call.go", "		c.Result, c.Reply, c.ServerMessage = gate.Again, 0, fault.String()\n", "		c.Reply = -2\n"},
	}},
	{"a name refused in a wide call that is charged to the others", []edit{
		{"dispatcher/wire/call.go", "		switch fault := batch[at].Reply.Fault(); {\n", "		others := slices.ContainsFunc(batch[c.From:c.To], func(c gate.Command) bool { return c.Result == gate.Again })\n" +
			"		switch fault := batch[at].Reply.Fault(); {\n		case others:\n			batch[at].Result, batch[at].Reply = gate.Again, 0\n"},
	}},
	{"a simple lock that is freed whoever has it", []edit{
		{"scripts/simple_line.lua", "	if found ~= owner then return", "	if type(found) ~= 'string' then return"},
	}},
	{"a simple lock whose renewal loses the TTL", []edit{
		{"scripts/simple.lua", "prolong(KEYS[i], ARGV[n + i] or ARGV[n + 1])", "not call('SET', KEYS[i], ARGV[i])"},
	}},
	{"a simple lock whose adoption loses the TTL", []edit{
		{"scripts/simple.lua", "call('SET', lock, fresh, 'PX', lease) -- refused", "call('SET', lock, fresh) -- refused"},
	}},
	{"a simple lock that is refused to the owner that has it", []edit{
		{"scripts/acquire_simple.lua", "found ~= owner then", "found ~= lock then"},
	}},
	{"a simple lock before which an orphan stands in line", []edit{
		{"dispatcher/gate/asking.go", "met || r.orphans.inLine()", "met"},
	}},
	{"a caller that fails fast and waits for the end of an outage", []edit{
		{"dispatcher/gate/entry.go", "w.Fast && (e.Queues(w) ||", "w.Fast && (!e.Queues(w) &&"},
	}},
	{"a MultiLock that keeps nothing while it waits", []edit{
		{"engine/multi.go", "		c.giveBack(holds[refused:])\n", "		c.giveBack(holds)\n"},
	}},
	{"a step of a MultiLock that waits for a callback worker", []edit{
		{"engine/callbacks.go", "futures.Settled(ownSteps{&e.callbacks}, none, nil)", "futures.Settled(&e.callbacks, none, nil)"},
	}},
}
