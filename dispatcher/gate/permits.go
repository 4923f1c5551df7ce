package gate

import "time"

// Permits is the machine of a semaphore with leases: each hold has permits with ids of their own, for a lease of its own. One call takes
// permits for the head of the queue (permit_take.lua). One call renews up to 48 holds (permit_renew.lua).
type Permits struct {
	sequencer
	held           map[*Hold]*permit
	pendingUnlocks []*pendingUnlock
	watch          bool // the watchdog is to keep the hold that is asked for
	renewAt        Time // when the next hold is to be renewed, or earlier
	endAt          Time // when the next hold ends or the next caller of Unlock must be answered, or earlier
	sent           Time // when the call left that is being answered
	now            Time
	renewals       retries // failures in a row
}

// permit is a hold and its permits in Redis: ids from Tenure.ID on, n of them.
type permit struct {
	Tenure
	h          *Hold
	n          int64
	extend     time.Duration // the lease that Extend asked for; 0: none
	atRisk     bool          // its holder was warned, and it was not renewed since
	pendingAck               // the callers of Extend
}

// pendingUnlock is an Unlock that waits for the answer, at most until its hold would have ended.
type pendingUnlock struct {
	ack   Settler
	until Time
}

// Settle implements Settler.
func (p *pendingUnlock) Settle(out Outcome) bool {
	ack := p.ack
	p.ack = nil
	settle(ack, out)
	return true
}

func newPermits() Machine { return &Permits{} }

func (ps *Permits) reset(cfg *Config) {
	*ps = Permits{sequencer: ps.sequencer, renewAt: Never, endAt: Never}
	ps.sequencer.reset(cfg, ps)
}

// ask takes permits for the head of the queue alone.
func (ps *Permits) ask() Command {
	w := ps.contest.queue.head
	for other := w; other != nil; other = other.next {
		other.asked = other == w
	}
	ps.watch = w.Watch
	return Command{Op: PermitTake, Lease: w.Lease, Args: PermitTakeArgs{N: w.N}.Args()}
}

// updateQuestion leaves the question as it is: the permits that it may have taken have its ids.
func (ps *Permits) updateQuestion(c *Command) {
	c.Args = PermitTakeArgs{N: c.Args.PermitTake().N, Resent: true}.Args()
}

// admit grants the permits that were taken to the first waiter that wants just these, or frees them.
func (ps *Permits) admit(now Time, c *Command, fx *Effects) {
	if ttl, held := c.Reply.Held(); held {
		ps.refusedPermits(now, ttl, fx)
		return
	}
	p := &permit{Tenure: Tenure{ID: c.ID, Lease: c.Lease, Watch: ps.watch}, n: c.Args.PermitTake().N}
	p.Deadline, p.Next = c.Sent+c.Lease-margin(c.Lease), Never
	if ps.watch {
		p.Next = c.Sent + c.Lease/3
	}
	ps.contest.askAt = now
	if now >= p.Deadline { // a grant that is read after its own deadline is not passed on
		ps.contest.grantedInVain(now, ps.cfg, ps.cfg.LastID, &ps.tries, overdue(now, c, c.Lease))
		ps.release(p, nil)
		return
	}
	ps.tries = 0
	granted := false
	for w := ps.contest.queue.head; !granted && w != nil && w.N == p.n && w.Lease == p.Lease && w.Watch == p.Watch; w = ps.contest.queue.head {
		p.h = w.begin(now, &p.Tenure, p.Deadline, ps.cfg.MaxHold)
		ps.contest.queue.remove(w)
		granted = ps.cfg.Answer(w, Outcome{})
		p.h.alive = granted
	}
	if !granted {
		ps.release(p, nil)
		return
	}
	if ps.held == nil {
		ps.held = make(map[*Hold]*permit)
	}
	ps.held[p.h] = p
	ps.cfg.Stats.countGrant()
	ps.rivals.noteFound(now, true)
	ps.schedule(p)
}

// refusedPermits handles the answer that too few permits are free. The waiters sleep until a message, the end of the first hold, or the
// poll cap.
func (ps *Permits) refusedPermits(now Time, ttl time.Duration, fx *Effects) {
	ps.tries = 0
	w := ps.contest.queue.head
	switch {
	case w == nil:
	case ps.again || !w.asked:
		ps.contest.askAt = now
	case w.Try: // and with it all that want as much
		ps.cfg.Stats.Waits.Inc()
		least := w.N
		ps.contest.dismiss(ps.cfg, Outcome{Why: Taken, TTL: ttl}, func(w *Waiter) bool { return w.Try && w.N >= least })
		ps.contest.askAt = now
	default:
		ps.refused(now, ttl, fx)
	}
}

// schedule sets the times at which p is renewed and ends.
func (ps *Permits) schedule(p *permit) {
	ps.renewAt = min(ps.renewAt, p.Next)
	ps.endAt = min(ps.endAt, p.Deadline, p.h.until)
}

// release frees the permits of a hold that has ended.
func (ps *Permits) release(p *permit, ack Settler) {
	ps.changes.queue = append(ps.changes.queue, Change{Op: PermitFree, Args: PermitFreeArgs{N: p.n, First: p.ID}.Args(), Ack: ack})
}

func (ps *Permits) giveBack(c *Command) {
	ps.release(&permit{Tenure: Tenure{ID: c.ID}, n: c.Args.PermitTake().N}, nil)
}

// end ends a hold. Its permits are freed by the next call.
func (ps *Permits) end(p *permit, ack Settler) {
	delete(ps.held, p.h)
	p.h.alive = false
	ps.cfg.Stats.Held.Dec()
	if p.atRisk {
		ps.cfg.Stats.AtRisk.Dec()
	}
	p.settle(Outcome{Why: Lost})
	ps.release(p, ack)
}

// lose ends a hold that its holder has not given back.
func (ps *Permits) lose(p *permit, why Why) {
	ps.cfg.Stats.Lost.Inc()
	p.h.By.End(why) // before its permits are freed (rule 3)
	ps.end(p, nil)
}

// endDue ends the holds with a deadline that has passed.
func (ps *Permits) endDue(now Time) {
	if now < ps.endAt {
		return
	}
	ps.endAt = Never
	for _, p := range ps.held {
		switch {
		case now >= p.Deadline || now >= p.h.until && !p.h.watch:
			ps.lose(p, Lost)
		case now >= p.h.until:
			ps.lose(p, TooLong)
		default:
			ps.endAt = min(ps.endAt, p.Deadline, p.h.until)
		}
	}
	kept := ps.pendingUnlocks[:0]
	for _, u := range ps.pendingUnlocks {
		if now >= u.until {
			u.Settle(Outcome{Why: Doubtful}) // Unlock never blocks past the deadline
		}
		if u.ack != nil {
			kept = append(kept, u)
			ps.endAt = min(ps.endAt, u.until)
		}
	}
	clear(ps.pendingUnlocks[len(kept):])
	ps.pendingUnlocks = kept
}
