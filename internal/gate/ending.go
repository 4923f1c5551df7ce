package gate

import (
	"github.com/wheellock/wheellock/scripts"
)

// Unlock ends a hold.
func (m *Mutex) Unlock(now Time, h *Hold, ack Settler, fx *Effects) {
	m.tick(now)
	if !h.alive { // it ended while this was on its way
		settle(ack, Outcome{Why: h.why})
	} else if m.t.end(h, m.cfg.Stats); m.t.holds != nil {
		settle(ack, Outcome{})
	} else {
		m.owe(ack)
		m.decide(now, fx)
		if m.t.phase != dead { // handed on, or about to be
			m.acknowledge(Outcome{})
		}
	}
	m.pump(now, fx)
}

// drop frees a tenure of which no hold is left. ack waits for the answer.
func (m *Mutex) drop(now Time, ack Settler) {
	m.owe(ack)
	m.t.phase, m.askAt = dead, now
	if l := m.queue.fair; l != nil {
		l.takenInVain(m, now, m.t.ID)
	}
	if gs := m.growing(); gs != nil {
		gs.abort(func(w *Waiter) { m.requeue(now, w) })
	}
}

// tick ends what time has ended. Every event that may grant something calls it first.
func (m *Mutex) tick(now Time) {
	if m.t.phase == dead && m.ack != nil && now >= m.t.Deadline {
		m.acknowledge(Outcome{Why: Doubtful}) // Unlock never blocks past the deadline
	}
	if !m.t.isDue(now) {
		return
	}
	if _, over := m.t.expired(now, m.cfg.Stats); over {
		m.drop(now, nil)
	}
}

// gone is a tenure that is not in Redis any more, as Redis says in answer to c.
func (m *Mutex) gone(now Time, c *Command) {
	m.t.endAll(m.cfg.Stats, Lost)
	m.growing().abort(func(w *Waiter) { m.requeue(now, w) })
	m.acknowledge(Outcome{Why: Lost})
	m.t.phase, m.askAt = free, now
	m.orphaned(&m.t, c.Sent, m.traits().release)
}

// released is the answer to the release of the tenure.
func (m *Mutex) released(now Time, c *Command, fx *Effects) {
	if c.ran() && c.Reply == scripts.Passed {
		m.queue.fair.passedOn(m, now, c, fx)
		return
	}
	heard := m.heardBy(c)
	why, gone := m.t.released(c)
	if !gone {
		m.unreleased(now, c)
		return
	}
	m.acknowledge(Outcome{Why: why})
	m.t.phase, m.askAt = free, now
	m.orphaned(&m.t, c.Sent, m.traits().release)
	if c.Reply != scripts.NotMine {
		switch {
		case m.queue.fair != nil: // a fair lock is left to whose turn it is
			m.queue.fair.outOfTurn(m, now, fx)
		case m.traits().polls:
			m.askAt += m.contention.pausePolling(now, m.queue.n, m.t.ID, m.cfg)
		default:
			m.askAt += m.contention.pause(now, heard, m.queue.n, m.cfg)
		}
	}
}

// unreleased is a release that proved nothing: it is sent again until the lease has surely run out. Whoever
// asks only once does not wait for that.
func (m *Mutex) unreleased(now Time, c *Command) {
	out, pause := m.t.unreleased(c, &m.tries)
	m.askAt = now + pause
	if c.Result == Unknown { // it may have taken the lock for the successor
		m.queue.fair.unsure(c.Sent)
	}
	if out.final() {
		m.acknowledge(out)
	}
	m.waiting.unreleased(c, out)
}

// forgetDead ends a tenure that no command can reach and whose lease has surely run out in Redis.
func (m *Mutex) forgetDead(now Time) {
	m.acknowledge(Outcome{Why: Doubtful})
	m.t.phase, m.askAt = free, now
}

// orphanSwap has the fresh owner of a swap released, which may have taken the lock for it, or may yet.
func (m *Mutex) orphanSwap(now Time, swap *Command) {
	ends := now + LateWindow + swap.Lease + 2*margin(swap.Lease)
	m.contended().orphans.add(orphan{id: swap.Args.Swap().Fresh, op: m.traits().release, at: now, ends: ends})
}

// releaseOrphan sends the release of an orphan that is due.
func (m *Mutex) releaseOrphan(now Time, fx *Effects) bool {
	if l := m.queue.fair; l != nil && l.leaveQueue(m, now, fx) {
		return true
	}
	if m.contention == nil {
		return false
	}
	o := m.contention.orphans.due(now)
	if o == nil {
		return false
	}
	m.send(o.op, o.id, 0, fx).Args = ReleaseArgs{Owner: o.owner}.Args()
	m.again = m.queue.head != nil
	return true
}

// sendRelease sends the release of the tenure.
func (m *Mutex) sendRelease(fx *Effects) {
	c := m.send(m.traits().release, m.t.ID, 0, fx)
	if l := m.queue.fair; l != nil {
		l.returned()
		l.successor(m, c)
	}
}

// Force frees an owner. When that is our own tenure, its holds end first; when it is one that was granted in
// Redis but not here yet, it is never handed out.
func (m *Mutex) Force(now Time, owner string, id uint64, ack Settler, fx *Effects) {
	m.tick(now)
	if id != 0 && m.t.phase == ours && m.t.ID == id {
		m.t.endAll(m.cfg.Stats, Lost)
		m.drop(now, ack)
	} else {
		m.contended().orphans.add(orphan{owner: owner, id: id, op: m.traits().release, at: now, ack: ack})
		if m.t.phase == free {
			m.queue.fair.takenInVain(m, now, id)
		}
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
	m.turnAllAway()
	m.pump(now, fx)
}

func (m *Mutex) turnAllAway() {
	out := Outcome{Why: Closed}
	m.turnAway(out, everyone)
	m.growing().turnAway(m.cfg, out, everyone)
}

// Close turns everybody away, ends all holds and frees everything.
func (m *Mutex) Close(now Time, fx *Effects) {
	m.turnAllAway()
	if c := m.contention; c != nil {
		c.subscription.close()
		c.keep, c.turns = Never, turns{}
	}
	if m.t.phase == ours {
		m.t.endAll(m.cfg.Stats, Closed)
		m.drop(now, nil)
	}
	m.pump(now, fx)
}
