package gate

import "time"

// Permits is the machine of a semaphore with permits that are held: each hold has some, under ids of its own,
// for a lease of its own. One call asks for the hold at the head of the queue (permit_take.lua); one call
// renews up to 48 holds (permit_renew.lua).
type Permits struct {
	sequencer
	held           map[*Hold]*permit
	pendingUnlocks []*pendingUnlock
	watch          bool // whether the hold that is asked for is watched
	renewAt        Time // no hold is to be renewed earlier
	endAt          Time // no hold ends earlier, and no caller of Unlock must be answered earlier
	sent           Time // when the call that is being answered left
	now            Time
	renewals       retries // in vain
}

// permit is a hold and its permits in Redis: ids from Tenure.ID on, n of them.
type permit struct {
	Tenure
	h          *Hold
	n          int64
	extend     time.Duration // the lease that Extend asked for; 0: nothing
	atRisk     bool          // it was told so, and was not renewed since
	pendingAck               // of Extend
}

// pendingUnlock is an Unlock that waits for the answer, at most until its hold would have ended.
type pendingUnlock struct {
	ack   Settler
	until Time
}

// Settle implements Settler.
func (o *pendingUnlock) Settle(out Outcome) bool {
	ack := o.ack
	o.ack = nil
	settle(ack, out)
	return true
}

func newPermits() Machine { return &Permits{} }

func (m *Permits) reset(cfg *Config) {
	*m = Permits{sequencer: m.sequencer, renewAt: Never, endAt: Never}
	m.sequencer.reset(cfg, m)
}

// ask is for the head of the queue alone.
func (m *Permits) ask() Command {
	w := m.contest.queue.head
	for other := w; other != nil; other = other.next {
		other.asked = other == w
	}
	m.watch = w.Watch
	return Command{Op: PermitTake, Lease: w.Lease, Args: PermitTakeArgs{N: w.N}.Args()}
}

// reask asks for the same: the ids are those that the call may have taken.
func (m *Permits) reask(c *Command) {
	c.Args = PermitTakeArgs{N: c.Args.PermitTake().N, Resent: true}.Args()
}

// heard grants what was taken to the first waiter that wants just that, or frees it.
func (m *Permits) heard(now Time, c *Command, fx *Effects) {
	if ttl, held := c.Reply.Held(); held {
		m.declined(now, ttl, fx)
		return
	}
	p := &permit{Tenure: Tenure{ID: c.ID, Lease: c.Lease, Watch: m.watch}, n: c.Args.PermitTake().N}
	p.Deadline, p.Next = c.Sent+c.Lease-margin(c.Lease), Never
	if m.watch {
		p.Next = c.Sent + c.Lease/3
	}
	m.contest.askAt = now
	if now >= p.Deadline { // a grant read after its own deadline is not handed out
		m.contest.gaveBack(now, m.cfg, m.cfg.LastID, &m.tries, overdue(now, c, c.Lease))
		m.free(p, nil)
		return
	}
	m.tries = 0
	granted := false
	for w := m.contest.queue.head; !granted && w != nil && w.N == p.n && w.Lease == p.Lease && w.Watch == p.Watch; w = m.contest.queue.head {
		p.h = w.begin(now, &p.Tenure, p.Deadline, m.cfg.MaxHold)
		m.contest.queue.remove(w)
		granted = m.cfg.Answer(w, Outcome{})
		p.h.alive = granted
	}
	if !granted {
		m.free(p, nil)
		return
	}
	if m.held == nil {
		m.held = make(map[*Hold]*permit)
	}
	m.held[p.h] = p
	m.cfg.Stats.granted()
	m.rivals.found(now, true)
	m.expect(p)
}

// declined is too few permits: the waiters sleep until news comes, the first of the held ones ends, or the poll cap.
func (m *Permits) declined(now Time, ttl time.Duration, fx *Effects) {
	m.tries = 0
	w := m.contest.queue.head
	switch {
	case w == nil:
	case m.again || !w.asked:
		m.contest.askAt = now
	case w.Try: // and with it all that want as much
		m.cfg.Stats.Waits.Inc()
		want := w.N
		m.contest.turnAway(m.cfg, Outcome{Why: Taken, TTL: ttl}, func(w *Waiter) bool { return w.Try && w.N >= want })
		m.contest.askAt = now
	default:
		m.refused(now, ttl, fx)
	}
}

// expect notes when something is to be done about p.
func (m *Permits) expect(p *permit) {
	m.renewAt = min(m.renewAt, p.Next)
	m.endAt = min(m.endAt, p.Deadline, p.h.until)
}

// free frees the permits of a hold that is over.
func (m *Permits) free(p *permit, ack Settler) {
	m.changes.queue = append(m.changes.queue, Change{Op: PermitFree, Args: PermitFreeArgs{N: p.n, First: p.ID}.Args(), Ack: ack})
}

func (m *Permits) giveBack(c *Command) {
	m.free(&permit{Tenure: Tenure{ID: c.ID}, n: c.Args.PermitTake().N}, nil)
}

// end takes a hold out. Its permits are freed by the next call.
func (m *Permits) end(p *permit, ack Settler) {
	delete(m.held, p.h)
	p.h.alive = false
	m.cfg.Stats.Held.Dec()
	if p.atRisk {
		m.cfg.Stats.AtRisk.Dec()
	}
	p.acknowledge(Outcome{Why: Lost})
	m.free(p, ack)
}

// tell ends a hold by anything but its holder's wish.
func (m *Permits) tell(p *permit, why Why) {
	m.cfg.Stats.Lost.Inc()
	p.h.By.End(why) // before its permits are freed (rule 3)
	m.end(p, nil)
}

// tick ends what time has ended.
func (m *Permits) tick(now Time) {
	if now < m.endAt {
		return
	}
	m.endAt = Never
	for _, p := range m.held {
		switch {
		case now >= p.Deadline || now >= p.h.until && !p.h.watch:
			m.tell(p, Lost)
		case now >= p.h.until:
			m.tell(p, TooLong)
		default:
			m.endAt = min(m.endAt, p.Deadline, p.h.until)
		}
	}
	left := m.pendingUnlocks[:0]
	for _, o := range m.pendingUnlocks {
		if now >= o.until {
			o.Settle(Outcome{Why: Doubtful}) // Unlock never blocks past the deadline
		}
		if o.ack != nil {
			left = append(left, o)
			m.endAt = min(m.endAt, o.until)
		}
	}
	clear(m.pendingUnlocks[len(left):])
	m.pendingUnlocks = left
}
