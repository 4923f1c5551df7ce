package gate

import "github.com/wheellock/wheellock/scripts"

// Unlock ends a hold.
func (m *Mutex) Unlock(now Time, h *Hold, ack Settler, fx *Effects) {
	m.tick(now, fx)
	if !h.alive { // it ended while this was on its way
		settle(ack, Outcome{Why: h.why})
		return
	}
	m.t.end(h, m.cfg.Stats)
	if m.t.holds != nil {
		settle(ack, Outcome{})
		m.pump(now, fx)
		return
	}
	m.owe(ack)
	m.decide(now, fx)
	if m.t.phase != dead { // handed on, or about to be
		m.acknowledge(Outcome{})
	}
	m.pump(now, fx)
}

func settle(ack Settler, out Outcome) {
	if ack != nil {
		ack.Settle(out)
	}
}

// drop frees a tenure of which no hold is left. ack waits for the answer.
func (m *Mutex) drop(now Time, ack Settler, fx *Effects) {
	m.owe(ack)
	m.t.phase, m.askAt = dead, now
	m.takenInVain(now, m.t.ID)
	m.abortGrowth(now)
	m.pump(now, fx)
}

// tick ends what time has ended. Every event that may grant something calls it first.
func (m *Mutex) tick(now Time, fx *Effects) {
	if m.t.phase == dead && m.ack != nil && now >= m.t.Deadline {
		m.acknowledge(Outcome{Why: Doubtful}) // Unlock never blocks past the deadline
	}
	if m.t.phase != ours {
		return
	}
	if now >= m.t.Deadline {
		m.lose(now, Lost, fx)
		return
	}
	ended := m.t.expire(now, m.cfg.Stats)
	if ended && m.t.holds == nil { // rule 1: ended by its own lease, so released, not left to its TTL
		m.drop(now, nil, fx)
	}
}

// prolonged notes what a command about a tenure, which has come back, may have done to its key.
func (m *Mutex) prolonged(now Time, c *Command) {
	if c.ID != m.t.ID || c.Op != Renew && c.Op != Confirm {
		return
	}
	switch c.Result {
	case Answered, UnderReplicated:
		m.t.carried(now, c.Lease)
	case Unknown:
		m.t.carried(now+LateWindow, c.Lease)
	}
}

// lose ends all holds of the tenure and frees it. Their contexts end before the release is sent (rule 3).
func (m *Mutex) lose(now Time, why Why, fx *Effects) {
	m.t.endAll(m.cfg.Stats, why)
	m.drop(now, m.ack, fx)
}

// gone is a tenure that is not in Redis any more, as Redis says in answer to c.
func (m *Mutex) gone(now Time, c *Command) {
	m.t.endAll(m.cfg.Stats, Lost)
	m.abortGrowth(now)
	m.acknowledge(Outcome{Why: Lost})
	m.t.phase, m.askAt = free, now
	m.trackOrphan(c.Sent)
}

// released is the answer to the release of the tenure.
func (m *Mutex) released(now Time, c *Command, fx *Effects) {
	switch {
	case c.ran() && c.Reply == scripts.Passed:
		m.passedOn(now, c, fx)
	case c.Result == Answered && (c.Reply >= 0 || c.Reply == scripts.PublishDenied):
		m.acknowledge(Outcome{})
		m.t.phase = free
		m.trackOrphan(c.Sent)
		m.askAt = now + m.pause(now, m.heardBy(c))
		m.outOfTurn(now, fx)
	case c.Result == Answered && c.Reply == scripts.NotMine:
		out := Outcome{Why: Lost}
		if m.t.Resent { // rule 4: the first send, before the deadline, did it
			out = Outcome{}
		}
		m.acknowledge(out)
		m.t.phase, m.askAt = free, now
		m.trackOrphan(c.Sent)
		m.heardBy(c)
	default:
		if m.queue.fair != nil && c.Result == Unknown { // it may have taken the lock for the successor
			m.queue.fair.unsure(c.Sent)
		}
		m.heardBy(c)
		m.unreleased(now, c)
	}
}

// unreleased is a release that proved nothing: it is sent again until the lease has surely run out. Whoever
// asks only once does not wait for that.
func (m *Mutex) unreleased(now Time, c *Command) {
	out, pause := unfreed(c, &m.tries)
	m.askAt = now + pause
	if c.Result == Unknown {
		m.t.Resent = m.t.Resent || c.Sent < m.t.Deadline
		m.cfg.Stats.Uncertain.Inc()
	}
	if out.final() {
		m.acknowledge(out)
	}
	m.turnAway(out, triesOnce)
	if m.queue.head != nil {
		m.contended().last = m.contended().last.noted(out)
	}
}

// expired is a tenure that no command can reach and whose lease has surely run out in Redis.
func (m *Mutex) expired(now Time) {
	m.acknowledge(Outcome{Why: Doubtful})
	m.t.phase, m.askAt = free, now
}

// trackOrphan remembers the tenure's id if an acquire of it may have arrived after a command, sent then, that found
// it gone or freed it: it is released once more when none can (rule 12).
func (m *Mutex) trackOrphan(sent Time) {
	if m.t.Unsure > sent {
		m.contended().orphans.add(orphan{id: m.t.ID, at: m.t.Unsure, ends: m.t.Ends})
	}
	m.t.Unsure = 0
}

// orphanSwap has the fresh owner of a swap released, which may have taken the lock for it, or may yet.
func (m *Mutex) orphanSwap(now Time, swap *Command) {
	ends := now + LateWindow + swap.Lease + 2*margin(swap.Lease)
	m.contended().orphans.add(orphan{id: swap.Next, at: now, ends: ends})
}

// releaseOrphan sends the release of an orphan that is due.
func (m *Mutex) releaseOrphan(now Time, fx *Effects) bool {
	if m.leaveQueue(now, fx) {
		return true
	}
	if m.contention == nil {
		return false
	}
	g, due := m.contention.orphans.due(now)
	if due {
		m.send(Command{Op: m.traits().release, ID: g.id, Owner: g.owner}, fx)
		m.again = m.queue.head != nil
	}
	return due
}

// Force frees an owner. When that is our own tenure, its holds end first; when it is one that was granted in
// Redis but not here yet, it is never handed out.
func (m *Mutex) Force(now Time, owner string, id uint64, ack Settler, fx *Effects) {
	m.tick(now, fx)
	if id != 0 && m.t.phase == ours && m.t.ID == id {
		m.t.endAll(m.cfg.Stats, Lost)
		m.drop(now, ack, fx)
		return
	}
	m.contended().orphans.add(orphan{owner: owner, id: id, at: now, ack: ack})
	if m.t.phase == free {
		m.takenInVain(now, id)
	}
	m.pump(now, fx)
}

// forced reports whether the tenure was to be freed by force before the answer came that it is ours.
func (m *Mutex) forced() (ack Settler, forced bool) {
	if m.contention == nil {
		return nil, false
	}
	g, forced := m.contention.orphans.take(m.t.ID)
	return g.ack, forced
}

// Drain turns everybody away who waits; holds go on, and can be extended.
func (m *Mutex) Drain(now Time, fx *Effects) {
	out := Outcome{Why: Closed}
	m.turnAway(out, everyone)
	m.ungrown(out, everyone)
	m.pump(now, fx)
}

// Close turns everybody away, ends all holds and frees everything.
func (m *Mutex) Close(now Time, fx *Effects) {
	m.Drain(now, fx)
	if c := m.contention; c != nil {
		c.subscription.close()
		c.keep, c.turns = Never, turns{}
	}
	if m.t.phase == ours {
		m.t.endAll(m.cfg.Stats, Closed)
		m.drop(now, m.ack, fx)
	}
	m.pump(now, fx)
}
