package gate

import (
	"time"

	"github.com/wheellock/wheellock/scripts"
)

// ask sends the next question for the head of the queue.
func (r *RW) ask(now Time, fx *Effects) {
	if now < r.askTime() {
		return
	}
	if g := r.leases.asking(); g != nil {
		r.reask(now, g, fx)
		return
	}
	w := r.queue.head
	if w == nil || !r.leases.admit(w) {
		return
	}
	r.again = false
	r.cfg.Stats.Attempts.Inc()
	if len(r.leases) == maxShares {
		g := r.leases[maxShares-1]
		r.yieldsToWriters = r.mayYield(now, w)
		r.send(ConfirmRead, g, max(r.need(), g.remainingLease(now)), fx)
		return
	}
	r.yieldsToWriters = len(r.leases) > 0 && r.mayYield(now, w)
	r.cfg.LastID++
	g := &rwLease{writer: w.Write, write: w.Write}
	g.ask(r.cfg.LastID, w.Lease, w.Watch)
	if !w.Watch && !w.Write {
		g.Lease = r.need()
	}
	r.leases = append(r.leases, g)
	r.question(g, fx)
}

// need is the lease for the readers at the head of the queue: the watchdog's, or the longest of fixed ones.
func (r *RW) need() time.Duration {
	head := r.queue.head
	lease := head.Lease
	for w := head.next; w != nil && !w.Write && !head.Watch; w = w.next {
		if !w.Watch {
			lease = max(lease, w.Lease)
		}
	}
	return lease
}

// question sends the acquire of g.
func (r *RW) question(g *rwLease, fx *Effects) {
	if g.write {
		r.send(AcquireWrite, g, g.Lease, fx)
	} else {
		r.send(AcquireRead, g, g.Lease, fx).Args = AcquireReadArgs{r.yieldsToWriters, r.contention.ownSubscriptions()}.Args()
	}
}

// reask repeats an acquire of which an answer was lost, under the same owner id: asking twice is harmless. If
// nobody wants it any more, what it may have taken is released.
func (r *RW) reask(now Time, g *rwLease, fx *Effects) {
	w := r.queue.head
	if w == nil || w.Write != g.write {
		g.Deadline = 0
		r.drop(now, g, nil)
		if !r.free(now, fx) { // it has run out already
			r.ask(now, fx)
		}
		return
	}
	g.askFor(w)
	r.again, r.yieldsToWriters = false, false
	r.cfg.Stats.Attempts.Inc()
	r.question(g, fx)
}

// acquired is the answer to an acquire.
func (r *RW) acquired(now Time, g *rwLease, c *Command, fx *Effects) {
	came := r.lock.acquired(now, c, &g.ownership, releaseOf(g.writer), &r.asks)
	if g.phase == free {
		r.leases.remove(g)
	}
	switch came {
	case heldByUs:
		g.confirm(now, c, r.cfg)
		r.settleYield(true, now)
		r.begun(now, g, c)
	case heldByOther:
		ttl, _ := c.Reply.Held()
		r.refused(now, c.Sent, ttl, g.ID, fx)
		if r.yieldsToWriters { // else another owner has the name, whatever we take our readers for
			r.letWritersPass(now)
		}
	}
}

// begun is a tenure that has just been granted. One that was granted in vain is given back: waiters ask again after a pause.
func (r *RW) begun(now Time, g *rwLease, c *Command) {
	orphan, forced := r.contention.orphans.take(g.ID)
	switch {
	case now >= g.Deadline: // a grant read after its own deadline is not handed out
		r.gaveBack(now, g.ID, &r.asks, overdue(now, c, g.counted(c.Lease, r.cfg)))
	case c.Result == UnderReplicated:
		r.gaveBack(now, g.ID, &r.asks, Outcome{Why: TooFew})
	case forced: // it was to be freed by force before the answer came that it is ours
	default:
		r.contention.found(now, true)
		r.asks = 0
		if r.contention.last != nil {
			r.contention.last = r.contention.last.noted(Outcome{Why: Taken})
		}
		r.contention.streak, r.contention.outside, g.joinBy = now, 0, c.Sent+r.cfg.HandoffTime
		r.admit(now, g, c)
		return
	}
	r.drop(now, g, orphan.ack)
}

// refused is an acquire that found another owner, or others whom readers let come first: the waiters sleep until a
// message, the end of a lease, the end of our own reading or the poll cap.
func (r *RW) refused(now, sent Time, ttl time.Duration, seed uint64, fx *Effects) {
	r.asks = 0
	if r.lock.refused(now, sent, ttl, seed, r.leases.reads()) { // beside our own readers nobody writes: who listens has taken nothing
		r.contention.want(&r.Entry, scripts.RWChannel, fx)
	}
}

// confirmed is the answer to a confirmation: of a writer's tenure that nobody holds, or of one that readers want to join.
func (r *RW) confirmed(now Time, g *rwLease, c *Command, fx *Effects) {
	switch proof := c.proves(0); {
	case proof == standing:
		r.contention.outside = max(int32(c.Reply)-int32(r.contention.ownSubscriptions()), 0)
		r.tries = 0
		age := g.Confirmed
		g.confirm(now, c, r.cfg)
		g.follow()
		switch {
		case g.write && r.contention.outside > 0 && now >= r.contention.yieldFree:
			g.Confirmed = age // others wait: this tenure is not handed on for longer
		case g.write:
		case r.yieldsToWriters && r.contention.outside > 0:
			r.refused(now, c.Sent, g.Deadline-now, g.ID, fx)
			r.letWritersPass(now)
		default:
			r.asks = 0
			g.joinBy = c.Sent + r.cfg.HandoffTime
			r.admit(now, g, c)
		}
	case proof == absent:
		r.gone(now, g, c)
	default:
		r.unrenewed(now, c, &g.ownership, &g.growing)
		switch {
		case g.write && g.holds == nil: // nobody holds it: better freed than doubtful
			r.drop(now, g, nil)
		case g.write:
		case c.Result == Unknown:
			r.inVain(now, c.ID, &r.asks, Outcome{Why: Doubtful})
		case c.Result == UnderReplicated:
			r.inVain(now, c.ID, &r.asks, Outcome{Why: TooFew})
		default:
			r.declined(now, c, &r.asks)
		}
	}
}
