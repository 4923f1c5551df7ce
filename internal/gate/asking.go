package gate

// pumpFree asks for the head of the queue when it is time, once nothing of us may be left in Redis.
func (m *Mutex) pumpFree(now Time, fx *Effects) {
	if m.releaseOrphan(now, fx) {
		return
	}
	if m.queue.fair != nil {
		m.queue.fair.askInQueue(m, now, fx)
		return
	}
	w := m.queue.head
	if w == nil || now < m.askTime() {
		return
	}
	m.cfg.LastID++
	m.t.ask(m.cfg.LastID, w.Lease, w.Watch)
	m.cfg.Stats.Attempts.Inc()
	m.send(m.traits().acquire, m.t.ID, w.Lease, fx)
}

// reask repeats an acquire of which an answer was lost, under the same owner id: asking twice is harmless.
// If nobody wants it any more, what it may have taken is released.
func (m *Mutex) reask(now Time, fx *Effects) {
	w := m.queue.head
	if w == nil {
		m.t.Deadline = 0
		m.drop(now, nil)
		return
	}
	m.t.askFor(w)
	m.cfg.Stats.Attempts.Inc()
	m.send(m.traits().acquire, m.t.ID, m.t.Lease, fx)
}

// acquired is the answer to an acquire.
func (m *Mutex) acquired(now Time, c *Command, fx *Effects) {
	if l := m.queue.fair; l != nil && l.answeredInQueue(m, now, c, fx) {
		return
	}
	switch m.lock.acquired(now, c, &m.t, m.traits().release, &m.tries) {
	case heldByOther:
		ttl, _ := c.Reply.Held()
		m.refused(now, c.Sent, ttl, fx)
	case heldByUs:
		m.t.confirm(now, c)
		m.fence(int64(c.Reply))
		m.settleYield(true, now)
		if m.givenInVain(now, c, fx) {
			return
		}
		if m.contention != nil {
			m.contention.enter(now, m.cfg)
			m.contention.found(now, true)
			m.contention.last = m.contention.last.noted(Outcome{Why: Taken})
		}
		m.admit(now, fx)
	}
}
