package gate

import (
	"time"

	"github.com/wheellock/wheellock/scripts"
)

// RW is the machine of a read-write lock.
//
// Readers of this process share a tenure: a reader that comes while it is joinable costs no command (rwenter.go). When that
// time is over later readers ask under a second tenure, and when there are two, for the newer one again.
// Such a question finds out which others listen: while this process reads, nobody but a writer has reason
// to wait, so that the readers let it come first and wait until what runs has ended. A writer has a tenure alone;
// it is handed on from writer to writer, and reads of its own Owner live under it, to become an ordinary read
// tenure when the last write ends, by a downgrade (rwkeeping.go).
//
// Here, requests are served in the order of arrival. Readers that follow each other enter together. A reader that
// comes while a writer waits, waits behind it; only a caller that reads or writes already, by its Owner, is let in at once.
type RW struct {
	rwHolds
	inFlight *rwLease // the one that the command in flight is about; nil: an orphan

	yieldsToWriters bool    // it, asking for readers, is for nothing if others listen
	asks            retries // for the head of the queue, in vain
	suspected       bool    // the tenures were suspected after the command in flight was asked for
}

func newRW() Machine { return &RW{} }

func (r *RW) reset(cfg *Config) {
	*r = RW{rwHolds: rwHolds{lock: r.lock}}
	r.begin(cfg, &r.own)
}

// send sends the one command of the name, about g. The caller may fill in more, at once.
func (r *RW) send(op Op, g *rwLease, lease time.Duration, fx *Effects) *Command {
	r.inFlight, r.suspected = g, false
	return r.lock.send(op, g.ID, lease, fx)
}

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
	ack, forced := r.contention.forced(g.ID)
	switch out := g.unusable(now, c, g.counted(c.Lease, r.cfg)); {
	case out.Why != Granted:
		r.gaveBack(now, g.ID, &r.asks, out)
	case forced: // it was to be freed by force before the answer came that it is ours
	default:
		r.contention.found(now, true)
		r.asks, r.askAt = 0, now
		if r.contention.last != nil {
			r.contention.last = r.contention.last.noted(Outcome{Why: Taken})
		}
		r.contention.streak, r.contention.outside, g.joinBy = now, 0, c.Sent+r.cfg.HandoffTime
		r.admit(now, g, c)
		return
	}
	r.drop(now, g, ack)
}

// refused is an acquire that found another owner, or others that readers let come first: the waiters sleep until a
// message, the end of a lease, the end of our own reading or the poll cap.
func (r *RW) refused(now, sent Time, ttl time.Duration, seed uint64, fx *Effects) {
	r.asks = 0
	if r.lock.refused(now, sent, ttl, seed, r.leases.reads()) { // beside our own readers nobody writes: a listener has taken nothing
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
		case c.Result == Unknown || c.Result == UnderReplicated:
			r.inVain(now, c.ID, &r.asks, unprovedOutcome(c))
		default:
			r.declined(now, c, &r.asks)
		}
	}
}

// mayYield reports whether readers let outside writers come first: not an Owner that reads already, which would wait
// for itself, and not after nobody took what we left to others.
func (r *RW) mayYield(now Time, w *Waiter) bool {
	return now >= r.contention.yieldFree && (w.Owner == 0 || r.owners[w.Owner] == nil)
}

// letWritersPass bounds how long readers wait, beside our own that read, for others that listen: these may wait to write,
// or only listen, and a hold may last for hours. It is a yield of the longest kind, for a writer gets in only when all
// reads that run have ended; it was in vain when we read still. After yieldsInVain of them readers rest from waiting.
func (r *RW) letWritersPass(now Time) {
	switch {
	case r.queue.head == nil || !r.leases.reads():
	case now < r.contention.yieldFree:
		r.askAt = now
	default:
		r.contention.yield = longestYield
		r.askAt = min(r.askAt, now+longestYield)
	}
}
