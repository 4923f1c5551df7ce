// Package gate is what one name is and does next: state machines without I/O, goroutines or clocks.
//
// From the bottom up:
//
//   - A Command is what a machine asks of Redis for its name, and how it went; each operation has a row of everything that is to be
//     known of it (operations.go), and its own type of arguments (command.go).
//   - Callers are Waiters in a Queue (waiter.go), and hear an Outcome (outcome.go). A granted Waiter becomes a Hold (hold.go) of a
//     tenure.
//   - An Entry is one live name; its Machine is the state machine of its Kind (entry.go, kinds.go).
//   - ownership.go has the lifecycle of one tenure in Redis, from the first question for it until it is surely gone, and its living
//     holds; tenure.go counts its lease, growth.go keeps what needs more of its lease, orphans.go what may be left of it.
//   - contention.go has what a name needs only while callers compete for it, or want more than to hold it: subscription.go, claim.go,
//     stay.go, wanted.go, lastanswer.go (what Redis last said), and what is left to other processes (yielding.go, turns.go).
//   - waiting.go has the callers of one name, and the events that are the same for every kind; retry.go has the pauses, and what
//     waiters hear meanwhile. lock.go adds what a mutex and a read-write lock do alike.
//   - The kinds are built on these. A Mutex (mutexevents.go, mutex.go) has the holds under a mutexLease (mutexlease.go, ending.go;
//     adopt.go for names that outlive their holds), which fairqueue.go and fair.go put into the order of a queue in Redis. An RW
//     (rwevents.go, rw.go, rwkeeping.go) asks for the callers that rwHolds lets in (rwholds.go, rwenter.go) under each rwLease
//     (rwlease.go). The names without owners are built around a sequencer (sequencer.go, sequenceranswers.go, changes.go): Semaphore,
//     Latch, Permits.
//
// The loop that owns the entries calls one method per event and says what time it is. The machine changes its state,
// and at the end of the event, once, sends what is due. It answers by settling waiters and by appending Commands and
// subscription wishes to Effects. A machine can so be replayed from a list of events.
//
// Rules that bind every machine (numbers as in INVARIANTS.md): at most one command in flight per name
// (11); an owner id is dead once its release was sent (4); loss is final (3).
package gate

import "time"

// Time is an instant of the engine's clock: nanoseconds since the engine was opened.
type Time = time.Duration

// Never is later than every instant.
const Never Time = 1<<63 - 1

// Centuries is when everything is over: a Wake then settles what nobody will work on any more.
const Centuries Time = 1 << 62

// jitter spreads the sleepers of many processes; it is drawn from the number of the tenure, so that a
// replay draws the same.
func jitter(seed uint64, span time.Duration) time.Duration {
	if span <= 0 {
		return 0
	}
	seed = (seed ^ seed>>30) * 0xbf58476d1ce4e5b9
	return time.Duration((seed ^ seed>>31) % uint64(span))
}

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
