package gate

import (
	"time"

	"github.com/wheellock/wheellock/wheel"
)

// Entry is one live name. Its machine is built around it, so that both are one piece of memory. The loop keeps it in
// its table of names while the machine is not Idle.
type Entry struct {
	Name    string
	Machine Machine
	Next    *Entry              // the loop's: in that table
	Alarm   wheel.Timer[*Entry] // the loop's
	Due     Time                // when the machine wants to be woken next, as the loop last heard
	Slot    uint16              // the hash slot of the name; only in a cluster
	Kind    Kind
	Stepped bool // stepped in this turn of the loop
	Free    bool // it serves no name any more, or not yet another

	// The machine's.
	flight Op   // the command in flight (rule 11: at most one)
	again  bool // a hint came that the next answer may be yes: a refusal asks at once
	tries  retries
}

// Reuse makes an idle entry serve another name. Events about its former holds and waiters find them not
// alive and not queued, and do nothing.
func (e *Entry) Reuse(name string, cfg *Config) {
	*e = Entry{Name: name, Kind: e.Kind, Due: Never, Machine: e.Machine}
	e.Alarm.Value = e
	e.Machine.reset(cfg)
}

func (e *Entry) entry() *Entry { return e }

// Oldest is when the oldest living hold of the name was granted; Never: there is none.
func (e *Entry) Oldest() Time {
	if m, can := e.Machine.(Lockable); can {
		return m.Oldest()
	}
	return Never
}

// Kind is the kind of synchroniser a name is used as; a live name has one.
type Kind uint8

// The kinds.
const (
	MutexKind  Kind = iota
	FencedKind      // a mutex with a fencing token for each tenure
	SpinKind        // a mutex with waiters that poll
	FairKind        // a mutex that serves in the order of arrival, across processes
	SemaphoreKind
	LatchKind
	PermitKind
	RWKind // a read-write lock
)

// Machine is the state machine of one name. Every method is one event; fx takes what it leads to. What the machines of some
// kinds can do besides is in Lockable, Forcible and Counting.
type Machine interface {
	Ask(now Time, w *Waiter, fx *Effects)     // a caller wants in
	Abandon(now Time, w *Waiter, fx *Effects) // its caller waits no longer: it is answered with GaveUp, unless it was answered before
	Timeout(now Time, w *Waiter, fx *Effects) // its Until is over

	Answer(now Time, c *Command, fx *Effects)         // the command in flight came back
	Message(now Time, news News, fx *Effects)         // something was published on the name's channel
	Subscribed(now Time, refusal string, fx *Effects) // refusal: the server's words, or empty
	Suspect(now Time, fx *Effects)                    // the key may have been changed by somebody else
	LinkUp(now Time, fx *Effects)                     // the link to Redis is there again
	Drain(now Time, fx *Effects)                      // the engine takes no more: turn the waiters away
	Close(now Time, fx *Effects)                      // the engine closes: settle all, release all
	Wake(now Time, fx *Effects)                       // the alarm is due

	NextAlarm() Time // when to Wake; Never: not at all
	Waiting() int    // how many wait
	Idle() bool      // nothing is held, asked, owed or listened to

	entry() *Entry     // around which it is built
	reset(cfg *Config) // as new, but for its entry
}

// Lockable is the machine of a kind that gives its callers a Hold, with a lease, until they unlock it.
type Lockable interface {
	Machine
	Unlock(now Time, h *Hold, ack Settler, fx *Effects) // ack may be nil
	Extend(now Time, h *Hold, lease time.Duration, ack Settler, fx *Effects)
	Oldest() Time // when the oldest living hold was granted; Never: none
}

// Wantable is the machine of a kind that can tell its holders that somebody else waits for the name.
type Wantable interface {
	Lockable
	Wanted(now Time, h *Hold, fx *Effects) // h.By is a Wanter
}

// Detachable is the machine of a kind with names that can outlive their holds.
type Detachable interface {
	Lockable
	Detach(now Time, h *Hold, lease time.Duration, ack Settler, fx *Effects) // its owner field gets DetachedSuffix
}

// Forcible is the machine of a kind with owners that can be freed by force.
type Forcible interface {
	Lockable
	Force(now Time, owner string, id uint64, ack Settler, fx *Effects) // free this owner; id is its number when it is ours, else 0
}

// Counting is the machine of a kind of which Redis keeps a count.
type Counting interface {
	Machine
	Change(now Time, c Change, fx *Effects)
}
