package gate

// reenter lets a caller in whose Owner has a living hold (rule 5). False: it has none.
func (m *Mutex) reenter(now Time, w *Waiter) bool {
	first := m.holdOf(w.Owner)
	if first == nil {
		return false
	}
	if now+w.Least <= m.t.Deadline && (w.Watch && m.t.Watch || !w.Watch && now+w.Lease-margin(w.Lease) <= m.t.Deadline) {
		m.share(now, w, first)
		return true
	}
	c := m.contended()
	c.growing.add(growth{w: w, lease: w.takes(w.Lease)})
	if w.Try { // it does not wait for the end of a pause
		m.t.RenewAt = min(m.t.RenewAt, now)
	}
	return true
}

func (m *Mutex) holdOf(owner uint64) *Hold {
	if m.t.phase != ours {
		return nil
	}
	return m.t.holdOf(owner)
}

// share grants w beside the first hold of its Owner, under the same tenure.
func (m *Mutex) share(now Time, w *Waiter, first *Hold) {
	h := w.hold()
	h.holdCount, h.Token = first.holdCount, first.Token // re-entry is not a new owner
	w.Reentry = true
	m.grant(now, w)
}

// readmit lets in what the new holder's owner has queued besides (rule 5).
func (m *Mutex) readmit(now Time, owner uint64) {
	if owner == 0 || m.queue.owned == 0 {
		return
	}
	for w := m.queue.head; w != nil; {
		next := w.next
		if w.Owner == owner {
			m.queue.remove(w)
			m.reenter(now, w)
		}
		w = next
	}
}

// renewed is the answer to a renewal.
func (m *Mutex) renewed(now Time, c *Command) {
	switch c.proves(1) {
	case standing:
		m.tries = 0
		m.t.confirm(now, c, c.Lease)
		m.growing().grown(c, &m.t, func(w *Waiter) { m.growInto(now, w) })
		m.t.follow()
	case absent:
		m.gone(now, c)
	default:
		m.unrenewed(now, c, &m.t, m.growing())
	}
}

// growInto grants a re-entry after the renewal it waited for, unless its Owner holds nothing now.
func (m *Mutex) growInto(now Time, w *Waiter) {
	first := m.holdOf(w.Owner)
	if first == nil {
		m.requeue(now, w)
		return
	}
	if w.Watch && !m.t.Watch {
		m.t.Stretched = m.t.Stretched || m.t.Lease > w.Lease
		m.t.watch(w.Lease, m.t.Confirmed)
	}
	m.share(now, w, first)
}
