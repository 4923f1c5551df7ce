package gate

import "time"

// permits are the holds of a semaphore with leases: each has permits with ids of their own, for a lease of its own. One call takes permits
// for the head of the queue (permits.lua). One call renews up to 48 holds.
type permits struct {
	cfg      *Config
	changes  *changes // of the name: releases join them
	held     map[*Hold]*permit
	renewAt  Time // when the next hold is to be renewed, or earlier
	endAt    Time // when the next hold ends or the next caller of Unlock must be answered, or earlier
	sent     Time // when the call left that is being answered
	now      Time
	watch    bool    // the watchdog is to keep the hold that is asked for
	renewals retries // failures in a row
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

// ask takes permits for the head of the queue alone.
func (ps *permits) ask(q *Queue, place int64) Command {
	w := q.head
	for other := w; other != nil; other = other.next {
		other.asked = other == w
	}
	ps.watch = w.Watch
	return Command{Op: PermitTake, Lease: w.Lease, Args: TakeArgs{N: w.N, Place: place}.Args()}
}

// admitPermits grants the permits that c took to the first waiter that wants just these, or frees them.
func (s *Sequencer) admitPermits(now Time, c *Command) {
	ps := &s.permits
	p := &permit{Tenure: Tenure{ID: c.ID, Lease: c.Lease, Watch: ps.watch}, n: c.Args.Take().N}
	p.Deadline, p.Next = c.Sent+c.Lease-margin(c.Lease), Never
	if ps.watch {
		p.Next = c.Sent + c.Lease/3
	}
	if now >= p.Deadline { // a grant that is read after its own deadline is not passed on
		s.contest.grantedInVain(now, s.cfg, s.cfg.LastID, &s.tries, overdue(now, c, c.Lease))
		ps.release(p.ID, p.n, nil)
		return
	}
	s.tries = 0
	for w := s.contest.queue.head; w != nil && w.N == p.n && w.Lease == p.Lease && w.Watch == p.Watch; w = s.contest.queue.head {
		p.h = w.begin(now, &p.Tenure, p.Deadline, s.cfg.MaxHold)
		if s.grant(now, w) {
			ps.add(p)
			return
		}
		p.h.alive = false
	}
	ps.release(p.ID, p.n, nil)
}

// add adds a hold that has begun.
func (ps *permits) add(p *permit) {
	if ps.held == nil {
		ps.held = make(map[*Hold]*permit)
	}
	ps.held[p.h] = p
	ps.cfg.Stats.Held.Inc()
	ps.schedule(p)
}

// schedule sets the times at which p is renewed and ends.
func (ps *permits) schedule(p *permit) {
	ps.renewAt = min(ps.renewAt, p.Next)
	ps.endAt = min(ps.endAt, p.Deadline, p.h.until)
}

// release frees n permits that nobody holds any more, with ids from first on.
func (ps *permits) release(first uint64, n int64, ack Settler) {
	ps.changes.queue = append(ps.changes.queue, Change{Op: PermitFree, Args: PermitFreeArgs{N: n, First: first}.Args(), Ack: ack})
}

// end ends a hold. Its permits are freed by the next call.
func (ps *permits) end(p *permit, ack Settler) {
	delete(ps.held, p.h)
	p.h.alive = false
	ps.cfg.Stats.Held.Dec()
	if p.atRisk {
		ps.cfg.Stats.AtRisk.Dec()
	}
	p.settle(Outcome{Why: Lost})
	ps.release(p.ID, p.n, ack)
}

// lose ends a hold that its holder has not given back.
func (ps *permits) lose(p *permit, why Why) {
	ps.cfg.Stats.Lost.Inc()
	p.h.By.End(why) // before its permits are freed (invariant: loss-is-final)
	ps.end(p, nil)
}

// endDue ends the holds with a deadline that has passed.
func (ps *permits) endDue(now Time) {
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
	for _, c := range ps.changes.queue {
		switch u, is := c.Ack.(*pendingUnlock); {
		case !is || u.ack == nil:
		case now >= u.until: // Unlock never blocks past the deadline
			u.Settle(Outcome{Why: Doubtful})
		default:
			ps.endAt = min(ps.endAt, u.until)
		}
	}
}
