package gate

import (
	"cmp"
	"time"

	"github.com/wheellock/wheellock/wheel"
)

// Waiter is one request for a name.
type Waiter struct {
	// Set by the caller before it asks.
	By        Settler
	Hold      *Hold         // what the request becomes when it is granted; nil: By is a Maker
	Owner     uint64        // the caller's Owner, for re-entry; 0: none
	LeaseTime time.Duration // whole milliseconds
	Least     time.Duration // how long the name stays taken after the grant, even if it is unlocked earlier; 0: no longer than it is held
	Adopts    *string       // adopt the name from this owner field; nil: the name is to be free
	N         int64         // how many permits
	Limit     int64         // how many permits with leases there are from this call on; 0: as many as there are
	Until     Time          // when it gives up; 0: never. Of a Try: how long it waits for the answer
	Since     Time          // when the hold began that this one is a late part of; 0: it begins with the grant
	Watch     bool          // the watchdog renews
	Try       bool          // it asks once
	Write     bool          // it wants to exclude all other owners, as every caller of a mutex does
	Fast      bool          // it does not wait while the link is down

	// Set by the loop before it is granted.
	Way Way // how it was granted

	// Owned by the loop.
	queued     bool   // it waits in the queue, or for a renewal (growth.go) or an adoption
	asked      bool   // of a Sequencer: the question on its way, or the last one, is for it; of a Lock: it is a re-entry that waits for a renewal
	subscribed bool   // it has a channel in the fair queue
	place      uint64 // in the fair queue, 0: none; of a growth: the number of the tenure
	Entry      *Entry
	Timer      wheel.Timer[*Waiter] // for Until
	next, prev *Waiter              // of those that wait
	after      *Waiter              // the next of the same Owner in the queue, and after the last one the first; nil: it has no Owner
	before     *Waiter              // the one before
}

// Way is how a waiter was granted what it asked for.
type Way uint8

// The ways.
const (
	Asked    Way = iota // Redis was asked for it
	HandedOn            // the lease was handed on from another hold
	Reentry             // its Owner has a hold
)

// chain is a list of waiters.
type chain struct{ head, tail *Waiter }

// push puts w behind all.
func (c *chain) push(w *Waiter) {
	w.queued, w.next, w.prev = true, nil, c.tail
	if c.tail == nil {
		c.head = w
	} else {
		c.tail.next = w
	}
	c.tail = w
}

// remove takes out w, which is there.
func (c *chain) remove(w *Waiter) {
	if w.prev == nil {
		c.head = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		c.tail = w.prev
	} else {
		w.next.prev = w.prev
	}
	w.queued, w.next, w.prev = false, nil, nil
}

// take takes out and returns those that chosen picks.
func (c *chain) take(chosen func(*Waiter) bool) (taken []*Waiter) {
	for w := c.head; w != nil; {
		next := w.next
		if chosen(w) {
			c.remove(w)
			taken = append(taken, w)
		}
		w = next
	}
	return taken
}

// dismiss answers and removes those that chosen picks.
func (c *chain) dismiss(cfg *Config, out Outcome, chosen func(*Waiter) bool) {
	for _, w := range c.take(chosen) {
		cfg.Answer(w, out)
	}
}

// Maker is a caller that makes its hold only when it is granted, so that waiting costs less memory.
type Maker interface{ Hold() *Hold }

// hold is what w becomes.
func (w *Waiter) hold() *Hold {
	if w.Hold == nil {
		w.Hold = w.By.(Maker).Hold()
		w.Hold.Entry = w.Entry
	}
	return w.Hold
}

// begin makes w a hold of t from now on. With a fixed lease it ends at limit at the latest. It is the first of its Owner unless it has a
// hold count already.
func (w *Waiter) begin(now Time, t *Tenure, limit Time, maxHold time.Duration) *Hold {
	h := w.hold()
	if h.holdCount == nil && w.Owner != 0 {
		h.holdCount = &holdCount{owner: w.Owner}
	}
	h.holdCount.add(1)
	h.Tenure, h.watch, h.write = t.ID, w.Watch, w.Write
	since := cmp.Or(w.Since, now)
	h.alive, h.why, h.since = true, Lost, uint32(since/sinceUnit)
	h.until.at = Never
	if !w.Watch {
		h.until.at = min(now+w.LeaseTime-margin(w.LeaseTime), limit)
	} else if maxHold > 0 {
		h.until.at = since + maxHold
	}
	h.follow(t)
	return h
}

// fits reports whether w can have t as it stands in Redis, without a change of lease (invariant: handoff-keeps-lease).
func (w *Waiter) fits(t *Tenure) bool {
	return w.Watch && t.Watch && w.LeaseTime == t.LeaseTime && w.Least == 0 && !t.Stretched
}

// takes is the lease of a command that takes the name for w: the name must stay taken for Least even if the process dies.
func (w *Waiter) takes(lease time.Duration) time.Duration { return max(lease, w.Least) }

// endOutcome is the answer to a waiter that gives up or has to, from the last answer about its name. A waiter that asks only once may have
// got no answer.
func (w *Waiter) endOutcome(why Why, known Outcome) Outcome {
	switch {
	case w.Try && why == TimedOut:
		return Unanswered
	case w.Try:
		return Outcome{Why: why, Last: Down}
	}
	known.Why = why
	return known
}

// Queue is the waiters of one name, in the order of arrival.
type Queue struct {
	chain
	n          int32              // how many wait
	tries      int32              // how many of them ask only once
	writers    int32              // how many of them want to exclude
	tryWriters int32              // how many of them do both
	owners     map[uint64]*Waiter // the first of each Owner
	fair       *fairQueue         // their places in Redis, if the lock is fair; else nil
}

// push puts w behind all waiters.
func (q *Queue) push(w *Waiter) {
	q.chain.push(w)
	q.count(w, 1)
	q.link(w)
	if q.fair != nil {
		q.fair.arrived(w)
	}
}

// pushFront puts w before all waiters.
func (q *Queue) pushFront(w *Waiter) {
	if q.head == nil {
		q.push(w)
		return
	}
	w.queued, w.next, w.prev = true, q.head, nil
	q.head.prev, q.head = w, w
	q.count(w, 1)
	q.link(w)
}

// remove takes w out of the queue, if it is there.
func (q *Queue) remove(w *Waiter) {
	if !w.queued {
		return
	}
	if q.fair != nil {
		q.fair.removed(w)
	}
	q.chain.remove(w)
	q.count(w, -1)
	q.unlink(w)
}

// dismiss answers and removes the waiters that chosen picks.
func (q *Queue) dismiss(cfg *Config, out Outcome, chosen func(*Waiter) bool) {
	for w := q.head; w != nil; {
		next := w.next
		if chosen(w) {
			q.remove(w)
			cfg.Answer(w, out)
		}
		w = next
	}
}

// link puts w behind the others of its Owner.
func (q *Queue) link(w *Waiter) {
	if w.Owner == 0 {
		return
	}
	if first := q.owners[w.Owner]; first != nil {
		w.before, w.after = first.before, first
		w.before.after, first.before = w, w
		return
	}
	if q.owners == nil {
		q.owners = make(map[uint64]*Waiter)
	}
	w.before, w.after, q.owners[w.Owner] = w, w, w
}

// unlink is the end of link.
func (q *Queue) unlink(w *Waiter) {
	switch {
	case w.Owner == 0:
		return
	case w.after == w:
		delete(q.owners, w.Owner)
	default:
		w.before.after, w.after.before = w.after, w.before
		if q.owners[w.Owner] == w {
			q.owners[w.Owner] = w.after
		}
	}
	w.before, w.after = nil, nil
}

func (q *Queue) count(w *Waiter, by int32) {
	q.n += by
	if w.Try {
		q.tries += by
	}
	if w.Write {
		q.writers += by
	}
	if w.Try && w.Write {
		q.tryWriters += by
	}
}

// lasting is how many waiters do not ask only once.
func (q *Queue) lasting() int32 { return q.n - q.tries }

func everyone(*Waiter) bool    { return true }
func triesOnce(w *Waiter) bool { return w.Try }
