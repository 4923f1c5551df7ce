package gate

// Mutex is the machine of a reentrant lock.
//
// free -> asked when somebody wants in; asked -> ours when granted, -> free when refused (mutexlease.go);
// ours -> ours by handing on; ours -> dead when the last hold ended; dead -> free when the release was answered (ending.go).
// The lease has its own type; here are the holds under it: which waiter gets it next, which share it by re-entry, and when it is left
// to others. mutexevents.go has the events.
type Mutex struct {
	mutexLease
}

func newMutex() Machine { return &Mutex{} }

func (m *Mutex) reset(cfg *Config) {
	*m = Mutex{mutexLease{lock: lock{waiting{Entry: m.Entry, waitState: &noWaiters, cfg: cfg}}}}
	if m.traits().fair {
		m.ownWaitState().queue.fair = &fairQueue{}
	}
}

// aheadAfter handoffs a confirmation is sent ahead of time, so that a busy name need not wait for it.
const aheadAfter = 4

// admit lets in the first waiter that the tenure was taken for by c, straight from the answer.
func (m *Mutex) admit(now Time, c *Command, fx *Effects) {
	if ack, forced := m.contention.forced(m.t.ID); forced {
		m.drop(now, ack)
		return
	}
	if l := m.queue.fair; l != nil {
		if w := l.admitted(&m.mutexLease, now); w == nil || !m.letIn(now, w) {
			m.drop(now, nil)
		}
		return
	}
	for w := m.queue.head; w != nil && w.Watch == m.t.Watch && w.Lease == m.t.Lease && w.Least <= c.Lease; w = m.queue.head {
		m.queue.remove(w)
		if m.letIn(now, w) {
			return
		}
	}
	m.decide(now, fx)
}

// letIn makes w a holder, and lets in what else its Owner has queued (rule 5). False: its caller had gone.
func (m *Mutex) letIn(now Time, w *Waiter) bool {
	owner := w.Owner
	if !m.grant(now, w) {
		return false
	}
	m.readmit(now, owner)
	return true
}

// grant makes w a holder. False: its caller had gone. Either way w is not the loop's any more.
func (m *Mutex) grant(now Time, w *Waiter) bool {
	h, least := w.hold(), w.Least
	if h.Token == 0 && m.traits().fenced {
		h.Token = m.contention.tokens.next
	}
	if !m.lock.grant(now, w, &m.t, m.t.Deadline) {
		return false
	}
	if least > 0 {
		m.contended().stay.atLeast(now, least)
	}
	if h.Token != 0 && h.Token == m.contention.tokens.next {
		m.contention.tokens.next++ // put into a settled future: used up
	}
	if m.queue.tries > 0 {
		m.turnAwayTries(m.ttl(now), h.owner(), true)
	}
	return true
}

// decide says what becomes of a tenure that nobody holds: the next waiter gets it at once if it is fresh,
// or after one script confirmed it; else it is freed.
func (m *Mutex) decide(now Time, fx *Effects) {
	if m.queue.fair != nil || m.contention.stayFor(now) > 0 { // the queue in Redis decides, or nobody is to have it
		m.drop(now, nil)
		return
	}
	for w := m.queue.head; w != nil && m.fresh(now, w); w = m.queue.head {
		m.queue.remove(w)
		w.HandedOn = true
		if m.letIn(now, w) {
			m.handedOn(now)
			m.confirmAhead(now, fx)
			return
		}
	}
	w := m.queue.head
	switch {
	case w == nil || w.Least > 0 || !w.fits(&m.t.Tenure) || !m.mayKeep(now) || !m.fenced():
		m.drop(now, nil)
	case m.flight == None: // else its answer decides
		m.send(Confirm, m.t.ID, m.t.Lease, fx)
	}
}

// fresh is rule 8, and rule 1 for w: the tenure may be handed to w without asking Redis.
func (m *Mutex) fresh(now Time, w *Waiter) bool {
	return w.fits(&m.t.Tenure) && m.t.fresh(now, m.cfg) && m.fenced() && !m.turnOver(now)
}

// confirmAhead confirms a tenure that changes hands fast when half of its HandoffTime is over. A doubtful tenure is not
// confirmed ahead: the command that made it doubtful came back in vain, and is repeated when its pause is over.
func (m *Mutex) confirmAhead(now Time, fx *Effects) {
	w := m.queue.head
	if m.flight != None || w == nil || m.t.Doubt || m.t.handed < aheadAfter || !w.fits(&m.t.Tenure) || now-m.t.Confirmed < m.cfg.HandoffTime/2 || !m.mayKeep(now) {
		return
	}
	m.send(Confirm, m.t.ID, m.t.Lease, fx)
}

// confirmed is the answer to a Confirm.
func (m *Mutex) confirmed(now Time, c *Command, fx *Effects) {
	switch proof := c.proves(0); {
	case proof == standing:
		contention := m.contended()
		contention.outside = int32(c.Reply)
		if contention.state == subscribed {
			contention.outside = max(contention.outside-1, 0)
		}
		age := m.t.Confirmed
		m.t.confirm(now, c, c.Lease, m.cfg.Stats)
		m.t.follow()
		m.tries = 0
		if contention.outside > 0 && now >= contention.yieldFree {
			m.t.Confirmed = age // others wait: this tenure is not handed on for longer
		}
	case proof == absent:
		m.gone(now, c)
	default:
		m.unrenewed(now, c, &m.t, m.growing())
		if m.t.holds == nil { // nobody holds it: better freed than doubtful
			m.drop(now, nil)
		}
	}
}

// mayKeep reports whether this process may keep the name for its next waiter after the tenure has aged.
func (m *Mutex) mayKeep(now Time) bool {
	return m.cfg.HandoffTime > 0 && m.contended().keeps(now, m.traits().polls, m.cfg) && !m.turnOver(now)
}

// turnOver reports whether it is the turn of others, which have shown that they want the name.
func (m *Mutex) turnOver(now Time) bool {
	return m.contention.turnOver(now, m.queue.n+1, m.traits().polls, m.cfg)
}

// handedOn counts a grant without asking Redis.
func (m *Mutex) handedOn(now Time) {
	m.t.handed = min(m.t.handed+1, aheadAfter)
	m.cfg.Stats.Handoffs.Inc()
	if m.traits().polls {
		m.contended().turns.hand(now)
	} else if m.contention != nil {
		m.contention.yielding.handed++
	}
}

// reenter lets a caller in if its Owner has a living hold (rule 5). False: it has none.
func (m *Mutex) reenter(now Time, w *Waiter) bool {
	first := m.t.holdOf(w.Owner)
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
		m.t.confirm(now, c, c.Lease, m.cfg.Stats)
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
	first := m.t.holdOf(w.Owner)
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
