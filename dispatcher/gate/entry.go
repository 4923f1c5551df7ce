package gate

import (
	"strconv"
	"time"

	"github.com/wheellock/wheellock/scripts"
	"github.com/wheellock/wheellock/wheel"
)

// Entry is one live name. Its machine contains it, so that both are one piece of memory. The loop keeps it in its table of names until the
// machine is Idle.
type Entry struct {
	Name    string
	Machine Machine
	Next    *Entry              // the next in the loop's table
	Alarm   wheel.Timer[*Entry] // the loop's, for Due
	Due     Time                // when the machine wants to be woken next, as the loop read it last
	Slot    uint16              // the hash slot of the name; used only in a cluster
	Kind    Kind
	Stepped bool // stepped in this turn of the loop
	Free    bool // no name has it at present

	// The machine's.
	flight Op   // the command in flight; None: there is none (invariant: one-command-per-name)
	again  bool // a hint came that the next answer may be yes: after a refusal the machine asks at once
	tries  retries
}

// Reuse makes an idle entry serve another name. Events about its earlier holds and waiters find them not alive and not queued, and do
// nothing.
func (e *Entry) Reuse(name string, cfg *Config) {
	*e = Entry{Name: name, Kind: e.Kind, Due: Never, Machine: e.Machine}
	e.Alarm.Value = e
	e.Machine.reset(cfg)
}

func (e *Entry) entry() *Entry { return e }

// Queues reports whether w, which asks for the name, may have to wait behind other callers of this process.
func (e *Entry) Queues(w *Waiter) bool {
	l, is := e.Machine.(*Lock)
	if !is {
		return true
	}
	in, _ := l.holdsOf(w.Owner)
	return w.Adopts == nil && !in
}

// FailsWhileDown reports whether w, which asks for the name, gets Down at once because its node cannot be reached: w does not wait for the link,
// nor is it a re-entry without a question; or w asks only once, and nobody knows whether the name is free, because no hold of this process
// excludes others. Nor do other waiters of this process know it.
func (e *Entry) FailsWhileDown(now Time, w *Waiter) bool {
	l, is := e.Machine.(*Lock)
	if w.Fast && is {
		l.endDue(now)
	}
	return w.Fast && (e.Queues(w) || !l.lease.lasts(now, w)) || w.Try && !(is && l.held())
}

// Kind is what a name is used as: a kind of lock, of semaphore, or a latch. A live name has one kind.
type Kind uint8

// The kinds.
const (
	MutexKind  Kind = iota
	FencedKind      // a mutex with a fencing token for each grant
	SpinKind        // a mutex with waiters that poll instead of listening
	FairKind        // a mutex that is granted in the order of arrival, across processes
	SemaphoreKind
	LatchKind
	PermitKind
	RWKind     // a read-write lock
	SimpleKind // a mutex whose key is a string, shared with pollers
)

// AppendOwner appends the owner of a tenure in Redis, "<uuid>:<number>" as Redisson's is "<uuid>:<thread>". ":<salt>" follows in a simple lock:
// its value must not be guessed.
func (k Kind) AppendOwner(b []byte, uuid, salt string, id uint64) []byte {
	b = strconv.AppendUint(append(append(b, uuid...), ':'), id, 10)
	if k == SimpleKind {
		b = append(append(b, ':'), salt...)
	}
	return b
}

// Machine is the state machine of one name. Each method of the first two groups is an event: it changes the state and adds to fx what is to
// be done outside. Wanted, Detach and Force are events of a Lock alone, Change is one of a Sequencer.
type Machine interface {
	Ask(now Time, w *Waiter, fx *Effects)               // a caller asks for the name
	EndWait(now Time, w *Waiter, why Why, fx *Effects)  // the waiter gives up (GaveUp), or its Until has passed (TimedOut)
	Unlock(now Time, h *Hold, ack Settler, fx *Effects) // ack may be nil
	Extend(now Time, h *Hold, lease time.Duration, ack Settler, fx *Effects)
	// Dismiss answers the waiters that chosen picks: the engine takes no more requests, or they do not wait while the link is down.
	Dismiss(now Time, out Outcome, chosen func(*Waiter) bool, fx *Effects)

	Answer(now Time, c *Command, fx *Effects)                  // the command in flight came back
	Message(now Time, news News, fx *Effects)                  // messages came on a channel of the name
	Subscribed(now Time, channel, refusal string, fx *Effects) // a subscription stands; refusal, if not empty: it was refused, in the server's words
	Suspect(now Time, fx *Effects)                             // another program may have changed the key
	LinkUp(now Time, fx *Effects)                              // the link to Redis works again
	Close(now Time, fx *Effects)                               // the engine closes: settle all callers, release all leases
	Wake(now Time, fx *Effects)                                // the alarm is due

	NextAlarm() Time // when to call Wake; Never: not at all
	Oldest() Time    // when the oldest living hold was granted; Never: there is none
	Waiting() int    // how many callers wait
	Idle() bool      // the entry can be forgotten: no lease, waiter, command or subscription is left

	entry() *Entry     // the Entry that the machine contains
	reset(cfg *Config) // makes the machine as new, but for its entry
}

// machines has a function for each kind, which makes its machine.
var machines = [...]func() Machine{
	MutexKind: newLock, FencedKind: newLock, SpinKind: newLock, FairKind: newLock, RWKind: newRW,
	SemaphoreKind: newSequencer, LatchKind: newSequencer, PermitKind: newSequencer, SimpleKind: newLock,
}

// channels has for each kind the channel on which a name becomes free for everybody.
var channels = [...]func(name string) string{
	MutexKind: scripts.LockChannel, FencedKind: scripts.LockChannel, SpinKind: scripts.LockChannel, FairKind: scripts.LockChannel,
	RWKind: scripts.RWChannel, SemaphoreKind: scripts.SemaphoreChannel, LatchKind: scripts.LatchChannel, PermitKind: scripts.SemaphoreChannel,
	SimpleKind: scripts.LockChannel,
}

// InLine reports whether engines that wait for such a name stand in a line in Redis.
func (k Kind) InLine() bool {
	return k == MutexKind || k == FencedKind || k == RWKind || k == SemaphoreKind || k == PermitKind || k == SimpleKind
}

// NewEntry makes the entry and the machine of a name.
func NewEntry(name string, kind Kind, cfg *Config) *Entry {
	m := machines[kind]()
	e := m.entry()
	e.Machine, e.Kind = m, kind
	e.Reuse(name, cfg)
	return e
}
