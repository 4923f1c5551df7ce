package gate

import "github.com/wheellock/wheellock/scripts"

// drop frees a tenure of which no hold is left. ack waits for the answer.
func (m *mutexLease) drop(now Time, ack Settler) {
	m.owe(ack)
	m.t.phase, m.askAt = dead, now
	m.contention.endClaim(m.t.ID)
	m.queue.fair.takenInVain(m, now, m.t.ID)
	if gs := m.growing(); gs != nil {
		gs.abort(func(w *Waiter) { m.requeue(now, w) })
	}
}

// tick ends what time has ended. Every event that may grant something calls it first.
func (m *mutexLease) tick(now Time) {
	if m.contention != nil {
		m.contention.stay.count(now)
	}
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
func (m *mutexLease) gone(now Time, c *Command) {
	m.t.endAll(m.cfg.Stats, Lost)
	m.growing().abort(func(w *Waiter) { m.requeue(now, w) })
	m.acknowledge(Outcome{Why: Lost})
	m.left(now)
	m.orphaned(&m.t, c.Sent, m.releaseOp())
}

// left notes that nothing of the tenure is in Redis any more.
func (m *mutexLease) left(now Time) {
	m.t.phase, m.askAt = free, now
	m.contention.stayNoLonger()
}

// free sends the release of a tenure that is dead, or forgets it: when no command can reach it and its lease has surely run
// out in Redis.
func (m *mutexLease) free(now Time, fx *Effects) {
	switch {
	case now >= m.t.Ends:
		m.acknowledge(Outcome{Why: Doubtful})
		m.left(now)
	case now >= m.askAt:
		m.queue.fair.returned()
		if !m.detach(now, fx) {
			c := m.send(m.releaseOp(), m.t.ID, 0, fx)
			c.Args = m.contention.releaseArgs(c.Op, "")
			m.queue.fair.successor(m, c)
		}
	}
}

// detach sends, in place of the release, the command by which the name stays taken. False: it is to be freed.
func (m *mutexLease) detach(now Time, fx *Effects) bool {
	lease := m.contention.stayFor(now)
	if lease <= 0 {
		return false
	}
	m.send(Detach, m.t.ID, lease, fx)
	return true
}

// releaseOp is how a tenure is released. An engine that has not been refused the name does not know whether others have claims. Its
// release wakes them. A fair lock is asked for and released by scripts of its own.
func (m *mutexLease) releaseOp() Op {
	if m.claims() && (m.contention.state == subscribed || m.contention.claim.asked != 0 && m.contention.claim.asked == m.t.ID) {
		return ReleaseClaim
	}
	return m.traits().release
}

// released is the answer to the release of the tenure. True: it took the lock for our next waiter, the head of the
// queue in Redis, and the tenure is to be handed out.
func (m *mutexLease) released(now Time, c *Command, fx *Effects) bool {
	if c.ran() && c.Reply == scripts.Passed {
		m.queue.fair.passedOn(m, now, c)
		return !m.givenInVain(now, c)
	}
	given := c.given()
	heard := m.heardBy(c)
	why, gone := m.t.released(c)
	if !gone {
		if c.Result == Unknown { // it may have taken the lock for the successor
			m.queue.fair.unsure(c.Sent)
		}
		m.askAt = now + m.unreleased(c, &m.t, &m.waitState.pendingAck)
		return false
	}
	m.acknowledge(Outcome{Why: why})
	m.left(now)
	m.orphaned(&m.t, c.Sent, m.releaseOp())
	if c.Reply != scripts.NotMine {
		switch {
		case m.queue.fair != nil: // a fair lock is left to the head of the queue in Redis
			m.queue.fair.outOfTurn(m, now, fx)
		case given: // we have our turn when it is that of our claim
		case m.traits().polls:
			m.askAt += m.contention.pausePolling(now, m.queue.n, m.t.ID, m.cfg)
		default:
			m.askAt += m.contention.pause(now, heard, m.queue.n, m.cfg)
		}
	}
	return false
}

// releaseOrphan sends the release of an orphan that is due.
func (m *mutexLease) releaseOrphan(now Time, fx *Effects) bool {
	if l := m.queue.fair; l != nil && l.leaveQueue(m, now, fx) {
		return true
	}
	return m.contention != nil && m.lock.releaseOrphan(now, fx)
}

// expel frees the tenure if it is that owner's.
func (m *mutexLease) expel(now Time, _ string, id uint64, ack Settler) (release Op, done bool) {
	if id != 0 && m.t.phase == ours && m.t.ID == id {
		m.t.endAll(m.cfg.Stats, Lost)
		m.contention.stayNoLonger()
		m.drop(now, ack)
		return None, true
	}
	m.queue.fair.takenInVain(m, now, id)
	m.contention.endClaim(id)
	return m.releaseOp(), false
}

// endHolds ends all holds and frees the tenure.
func (m *mutexLease) endHolds(now Time, why Why) {
	if m.t.phase == ours {
		m.t.endAll(m.cfg.Stats, why)
		m.drop(now, nil)
	}
}
