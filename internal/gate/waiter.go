package gate

import (
	"time"

	"github.com/wheellock/wheellock/scripts"
	"github.com/wheellock/wheellock/wheel"
)

// Why is what became of a request or a hold.
type Why uint8

// The outcomes a machine tells. engine/errors.go turns them into errors.
const (
	Granted    Why = iota // also: unlocked, extended
	Taken                 // another owner has it
	TimedOut              // Until is over; Outcome.Last says what the last answer was
	Down                  // not sent: the link is down
	Doubtful              // sent, answer lost
	Refused               // the server said no
	Foreign               // the key holds something else
	Lost                  // the lease ended, or the key was gone
	TooLong               // MaxHold is over
	Unlocked              // by its holder
	Closed                // the engine closes
	Overloaded            // too many wait already
	OtherKind             // the name lives as another kind
	AliasLives            // its alias lives, with which it would share keys
	Deadlock              // its Owner reads, and would wait for itself
	TooFew                // replicas have it: it was given back
	TooLate               // the lease was over when its answer came, or it reached Redis too late: nothing is held
	GaveUp                // its caller waits no longer; Outcome.Last says what the last answer was
)

// Outcome is an answer to a caller.
type Outcome struct {
	Why           Why
	Last          Why           // TimedOut and GaveUp: the last answer, with what belongs to it; Down: Redis did not answer
	TTL           time.Duration // Taken, also as Last: what the owner's lease has left; negative: no TTL
	N             int64         // Granted, for changes: the script's answer
	Fault         scripts.Fault // Refused, also as Last, and Foreign, when a script said so
	ServerMessage string        // Refused, also as Last: the server's own words, when it said so at top level; TooLate: how late
	Passes        bool          // Refused: the reason can pass by itself
}

// gaveUp is the answer to a waiter that waits no longer, from what is known of its name. A waiter that asks only once
// was asked for, perhaps, and heard nothing.
func (w *Waiter) gaveUp(why Why, known Outcome) Outcome {
	switch {
	case w.Try && why == TimedOut:
		return Unanswered
	case w.Try:
		return Outcome{Why: why, Last: Down}
	}
	known.Why = why
	return known
}

// Unanswered is the answer in Redis's place to who waits only so long for one.
var Unanswered = Outcome{Why: Doubtful, ServerMessage: "there was no answer within AnswerTimeout"}

// Settler is a caller waiting for an outcome.
type Settler interface {
	// Settle answers, and is called once. False: the caller has gone; nothing was handed over.
	// It does not block (rule 17) and runs no code of users. A waiter that it
	// answered is its caller's again, who may use it for another call: the loop must not look at it any more.
	Settle(Outcome) bool
}

// Waiter is one request for a name.
type Waiter struct {
	// Set by the caller before it asks.
	By    Settler
	Hold  *Hold         // what the request becomes when it is granted; nil: By is a Maker
	Owner uint64        // the caller's Owner; 0: an owner of its own
	Lease time.Duration // whole milliseconds
	N     int64         // how many permits
	Until Time          // when it gives up; 0: never. Of a Try: for how long it waits for the answer
	Watch bool          // the watchdog renews
	Try   bool          // asks once
	Write bool          // of a read-write lock: to exclude

	// Owned by the loop.
	queued     bool
	asked      bool   // Redis was asked for it, and has not answered
	heard      bool   // it listens, in the queue of a fair lock in Redis
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

// fits reports whether w can have a tenure as it stands in Redis, without a change of lease (rule 1).
func (w *Waiter) fits(t *Tenure) bool {
	return w.Watch && t.Watch && w.Lease == t.Lease && !t.Stretched
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

// pushFront lets w in before everybody who waits.
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
		q.fair.gone(w)
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

// turnAway answers every waiter that chosen picks and forgets it.
func (q *Queue) turnAway(cfg *Config, out Outcome, chosen func(*Waiter) bool) {
	for w := q.head; w != nil; {
		next := w.next
		if chosen(w) {
			q.remove(w)
			cfg.Answer(w, out)
		}
		w = next
	}
}

// lasting is how many of the waiters wait for as long as it takes.
func (q *Queue) lasting() int32 { return q.n - q.tries }

func everyone(*Waiter) bool    { return true }
func triesOnce(w *Waiter) bool { return w.Try }
