package gate

import (
	"cmp"
	"time"

	"github.com/wheellock/wheellock/wheel"
)

// Waiter is one request for a name.
type Waiter struct {
	// Set by the caller before it asks.
	By     Settler
	Hold   *Hold         // what the request becomes when it is granted; nil: By is a Maker
	Owner  uint64        // the caller's Owner; 0: an owner of its own
	Lease  time.Duration // whole milliseconds
	Least  time.Duration // the name stays taken for so long after the grant, even if it is unlocked; 0: as long as it is held
	Adopts string        // the owner field that it wants to take the place of; empty: the name is to be free
	N      int64         // how many permits
	Until  Time          // when it gives up; 0: never. Of a Try: for how long it waits for the answer
	Since  Time          // when the hold began of which this one is a late part; 0: it begins when it is granted
	Watch  bool          // the watchdog renews
	Try    bool          // asks once
	Write  bool          // of a read-write lock: to exclude

	// Set by the loop before it is granted.
	HandedOn bool // in the tenure of another hold
	Reentry  bool // its Owner has a hold

	// Owned by the loop.
	queued     bool
	asked      bool   // Redis was asked for it, and has not answered
	subscribed bool   // it listens, in the queue of a fair lock in Redis
	place      uint64 // there; 0: it does not stand in it
	Entry      *Entry
	Timer      wheel.Timer[*Waiter] // for Until
	next, prev *Waiter
}

// Maker is a caller that makes its hold only when it is granted one, so that waiting costs less memory.
type Maker interface{ Hold() *Hold }

// hold is what w becomes.
func (w *Waiter) hold() *Hold {
	if w.Hold == nil {
		w.Hold = w.By.(Maker).Hold()
		w.Hold.Entry = w.Entry
	}
	return w.Hold
}

// begin makes w a hold of t, from now on, that ends by limit at the latest if it has a fixed lease. It is the first of its
// Owner unless it was given a hold count.
func (w *Waiter) begin(now Time, t *Tenure, limit Time, maxHold time.Duration) *Hold {
	h := w.hold()
	if h.holdCount == nil && w.Owner != 0 {
		h.holdCount = &holdCount{owner: w.Owner}
	}
	h.holdCount.add(1)
	h.Tenure, h.watch, h.write = t.ID, w.Watch, w.Write
	since := cmp.Or(w.Since, now)
	h.alive, h.why, h.since = true, Lost, uint32(since/sinceUnit)
	h.until = Never
	if !w.Watch {
		h.until = min(now+w.Lease-margin(w.Lease), limit)
	} else if maxHold > 0 {
		h.until = since + maxHold
	}
	h.follow(t)
	return h
}

// fits reports whether w can have a tenure as it stands in Redis, without a change of lease (rule 1).
func (w *Waiter) fits(t *Tenure) bool {
	return w.Watch && t.Watch && w.Lease == t.Lease && w.Least == 0 && !t.Stretched
}

// takes is the lease of the command that takes the name for w: whatever becomes of its holder, the name stays taken for Least.
func (w *Waiter) takes(lease time.Duration) time.Duration { return max(lease, w.Least) }

// endOutcome is the answer to a waiter that waits no longer, from what is known of its name. A waiter that asks only once
// was asked for, perhaps, and heard nothing.
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

// Queue is the waiters of one name, in order of arrival.
type Queue struct {
	head, tail *Waiter
	n, owned   int32      // how many wait; how many of them have an Owner
	tries      int32      // how many of them ask only once
	writers    int32      // how many of them want to exclude
	fair       *fairQueue // where they stand in Redis, when the lock is fair; else nil
}

func (q *Queue) push(w *Waiter) {
	w.queued, w.next, w.prev = true, nil, q.tail
	if q.tail == nil {
		q.head = w
	} else {
		q.tail.next = w
	}
	q.tail = w
	q.count(w, 1)
	if q.fair != nil {
		q.fair.arrived(w)
	}
}

// pushFront lets w in before all waiters.
func (q *Queue) pushFront(w *Waiter) {
	if q.head == nil {
		q.push(w)
		return
	}
	w.queued, w.next, w.prev = true, q.head, nil
	q.head.prev, q.head = w, w
	q.count(w, 1)
}

func (q *Queue) remove(w *Waiter) {
	if !w.queued {
		return
	}
	if q.fair != nil {
		q.fair.removed(w)
	}
	if w.prev == nil {
		q.head = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		q.tail = w.prev
	} else {
		w.next.prev = w.prev
	}
	w.queued, w.next, w.prev = false, nil, nil
	q.count(w, -1)
}

func (q *Queue) count(w *Waiter, by int32) {
	q.n += by
	if w.Owner != 0 {
		q.owned += by
	}
	if w.Try {
		q.tries += by
	}
	if w.Write {
		q.writers += by
	}
}

// lasting is how many of the waiters wait for as long as it takes.
func (q *Queue) lasting() int32 { return q.n - q.tries }

func everyone(*Waiter) bool    { return true }
func triesOnce(w *Waiter) bool { return w.Try }
