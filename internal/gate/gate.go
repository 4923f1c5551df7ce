// Package gate is what one name is and does next: state machines without I/O, goroutines or clocks.
//
// From the bottom up:
//
//   - An Entry is one live name (this file); its Machine is the state machine of its kind.
//   - A Command is what a machine asks of Redis for its name; each operation has its own type of arguments (command.go).
//   - Callers are Waiters in a Queue (waiter.go). A granted Waiter becomes a Hold (hold.go) of a tenure.
//   - ownership.go has the lifecycle of one tenure in Redis, from the first question for it until it is surely gone;
//     tenure.go counts its lease, livingholds.go keeps its holds, orphans.go what may be left of it.
//   - waiting.go has the callers of one name and how Redis is asked for them; it uses waitstate.go, subscription.go,
//     retry.go (pauses, and what waiters hear meanwhile) and otherlease.go.
//   - yielding.go and turns.go decide what is left to other processes; sharing.go has a mutex ask them.
//   - fairqueue.go keeps the places of a fair lock in Redis, fair.go is the strategy that a fair Mutex consults.
//   - The kinds: Mutex (mutex.go, asking.go, contention.go, handoff.go, reentry.go, ending.go), RW (rw*.go), and the names
//     without owners, around a sequencer (sequencer*.go): Semaphore, Latch, Permits.
//
// The loop that owns the entries calls one method per event and says what time it is. The machine changes its state,
// and at the end of the event, once, sends what is due. It answers by settling waiters and by appending Commands and
// subscription wishes to Effects. A machine can so be replayed from a list of events.
//
// Rules that bind every machine (numbers as in INVARIANTS.md): at most one command in flight per name
// (11); an owner id is dead once its release was sent (4); loss is final (3).
package gate

import (
	"time"

	"github.com/wheellock/wheellock/wheel"
)

// Time is an instant of the engine's clock: nanoseconds since the engine was opened.
type Time = time.Duration

// Never is later than every instant.
const Never Time = 1<<63 - 1

// Centuries is when everything is over: a Wake then settles what nobody will work on any more.
const Centuries Time = 1 << 62

// Op is what a command does in Redis.
type Op uint8

// The operations, in the order in which a batch carries them: what keeps locks alive first, then what
// frees them, then what takes new ones (rule 15).
const (
	None Op = iota
	Renew
	Confirm
	Swap
	RenewRead
	RenewWrite
	ConfirmRead
	ConfirmWrite
	Downgrade
	PermitRenew
	Release
	ReleaseQuietly // tells nobody
	ReleaseRead
	ReleaseWrite
	PermitFree
	FairRelease
	FairLeave // the queue
	Give
	CountDown
	AddPermits
	PermitAdd
	SetPermits
	DrainPermits
	SetCount
	DeleteCount
	Acquire
	AcquireFenced
	AcquireRead
	AcquireWrite
	PermitTake
	FairAsk
	Take
	GetCount
	Ops
)

var opNames = [Ops]string{
	None: "none", Renew: "renew", Confirm: "confirm", Swap: "swap",
	RenewRead: "renew read", RenewWrite: "renew write", ConfirmRead: "confirm read", ConfirmWrite: "confirm write", Downgrade: "downgrade",
	PermitRenew: "permit renew", PermitFree: "permit free", PermitAdd: "permit add", PermitTake: "permit take",
	ReleaseRead: "release read", ReleaseWrite: "release write", AcquireRead: "acquire read", AcquireWrite: "acquire write",
	Release: "release", ReleaseQuietly: "release quietly",
	FairRelease: "fair release", FairLeave: "fair leave",
	Give: "give", CountDown: "count down", AddPermits: "add permits", SetPermits: "set permits", DrainPermits: "drain permits",
	SetCount: "set count", DeleteCount: "delete count",
	Acquire: "acquire", AcquireFenced: "acquire fenced", FairAsk: "fair ask", Take: "take", GetCount: "look",
}

func (o Op) String() string { return opNames[o] }

// Result says how far a command got. Only Answered and UnderReplicated have a Reply.
type Result uint8

// What can become of a command (the error table of dispatcher/rediserr decides).
const (
	Answered        Result = iota // the script ran
	NotSent                       // it surely never left: the link is down
	Again                         // it surely did not run, and the reason will pass: LOADING, BUSY, ...
	Denied                        // it surely did not run, and will not: NOAUTH, NOPERM, ...
	Unknown                       // it left and no answer came: it may have run, or may yet
	UnderReplicated               // it ran, but too few replicas have what it did (rule 25)
	Redirected                    // it surely did not run: another node serves the name. The dispatcher sends it there; no machine sees this
)

// SubscriptionChange is a wish of an entry about a channel on which its freeing is announced.
type SubscriptionChange struct {
	Entry   *Entry
	Channel string
	On      bool
}

// Effects collects what the machines want done outside.
type Effects struct {
	Commands      [Ops][]Command
	Subscriptions []SubscriptionChange
}

// add appends a command, which its sender fills in where it stands: a Command is too long to be copied twice.
func (fx *Effects) add(op Op) *Command {
	sent := append(fx.Commands[op], Command{})
	fx.Commands[op] = sent
	return &sent[len(sent)-1]
}

// Config is what the machines of one engine share. It does not change after the engine was opened,
// but for the fields that say so.
type Config struct {
	Lease       time.Duration // the watchdog's lease
	HandoffTime time.Duration // how long a tenure is handed on after its last confirmation; 0: never
	PollCap     time.Duration // how long a waiter sleeps at most before it asks again
	Echo        int32         // how often a message of ours comes back to us; 0: once
	MaxHold     time.Duration // how long a watched hold lasts at most; 0: no bound
	UUID        string        // the engine's: owner fields are "<UUID>:<number>"

	FairWaiterLease time.Duration // how long the places of an engine that died stand in a fair queue

	Epoch          uint32                // of the link to Redis: grows when it breaks. Owned by the loop.
	RTT            time.Duration         // smoothed time of a round trip. Owned by the loop.
	LastID         uint64                // the number of the newest tenure. Owned by the loop.
	Waits          *wheel.Slots[*Waiter] // of those who gave a WithWait. Owned by the loop.
	idleWaitStates []*waitState          // to be borrowed. Owned by the loop.
	Stats          *Stats
}

// Answer settles a waiter and stops its timer. False: its caller has gone.
func (cfg *Config) Answer(w *Waiter, out Outcome) bool {
	cfg.Waits.Remove(&w.Timer)
	if out.Why == Refused || out.Why == Foreign || out.Why == Overloaded {
		cfg.Stats.Refused.Inc()
	}
	return w.By.Settle(out)
}

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

// machines make the machine of a kind.
var machines = [...]func() Machine{
	MutexKind: newMutex, FencedKind: newMutex, SpinKind: newMutex, FairKind: newMutex,
	SemaphoreKind: newSemaphore, LatchKind: newLatch, PermitKind: newPermits, RWKind: newRW,
}

// NewEntry makes the entry and the machine of a name.
func NewEntry(name string, kind Kind, cfg *Config) *Entry {
	m := machines[kind]()
	c := m.entry()
	c.Machine, c.Kind = m, kind
	c.Reuse(name, cfg)
	return c
}

// Reuse makes an idle entry serve another name. Events about its former holds and waiters find them not
// alive and not queued, and do nothing.
func (c *Entry) Reuse(name string, cfg *Config) {
	*c = Entry{Name: name, Kind: c.Kind, Due: Never, Machine: c.Machine}
	c.Alarm.Value = c
	c.Machine.reset(cfg)
}

func (c *Entry) entry() *Entry { return c }

// Oldest is when the oldest living hold of the name was granted; Never: there is none.
func (c *Entry) Oldest() Time {
	if m, can := c.Machine.(Lockable); can {
		return m.Oldest()
	}
	return Never
}

// Kind is the kind of synchroniser a name is used as; a live name has one.
type Kind uint8

// The kinds.
const (
	MutexKind  Kind = iota
	FencedKind      // a mutex whose tenures have fencing tokens
	SpinKind        // a mutex whose waiters poll
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
	Suspect(now Time, fx *Effects)                    // the key may have changed behind our back
	LinkUp(now Time, fx *Effects)                     // the link to Redis is there again
	Drain(now Time, fx *Effects)                      // the engine takes no more: turn the waiters away
	Close(now Time, fx *Effects)                      // the engine closes: settle all, release all
	Wake(now Time, fx *Effects)                       // the alarm is due

	NextAlarm() Time // when to Wake; Never: not at all
	Waiting() int    // how many wait
	Idle() bool      // nothing is held, asked, owed or listened to

	entry() *Entry     // around which it is built
	reset(cfg *Config) // as new, but for its entry

	// What the events that are written once (waiting.go) need of the kind.
	pump(now Time, fx *Effects)   // sends the next command of the name, if one is due; every event ends with it
	forget(w *Waiter) bool        // takes out a waiter; false: it does not wait
	closeUp(now Time)             // lets in who may come in now that a waiter before them has gone
	turnAllAway()                 // answers all who wait with Closed
	askAgain()                    // notes that whoever waits is to ask, whatever was answered before
	lastOutcome(now Time) Outcome // what is known of the name, as the answer to a waiter that gives up
}

// Lockable is the machine of a kind whose callers have a Hold, with a lease, until they unlock it.
type Lockable interface {
	Machine
	Unlock(now Time, h *Hold, ack Settler, fx *Effects) // ack may be nil
	Extend(now Time, h *Hold, lease time.Duration, ack Settler, fx *Effects)
	Oldest() Time // when the oldest living hold was granted; Never: none
}

// Forcible is the machine of a kind whose owners can be freed by force.
type Forcible interface {
	Lockable
	Force(now Time, owner string, id uint64, ack Settler, fx *Effects) // free this owner; id is its number when it is ours, else 0
}

// Counting is the machine of a kind of which Redis keeps a count.
type Counting interface {
	Machine
	Change(now Time, c Change, fx *Effects)
}

// What each machine can do.
var (
	_ Forcible = (*Mutex)(nil)
	_ Forcible = (*RW)(nil)
	_ Lockable = (*Permits)(nil)
	_ Counting = (*Permits)(nil)
	_ Counting = (*Semaphore)(nil)
	_ Counting = (*Latch)(nil)
)
