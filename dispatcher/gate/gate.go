// Package gate decides, for one name, what to ask of Redis and which caller to grant.
//
// A Machine is the state machine of one name. Its events are: a caller asks (Ask), gives up (EndWait) or gives back (Unlock), Redis answers
// (Answer), a message arrives (Message), an alarm is due (Wake). Each event takes the current time, changes the state, and adds to Effects
// the commands to send and the channels to subscribe to. Callers are answered at once. A machine does no I/O, starts no goroutine and reads
// no clock, so a test can replay any order of events, and internal/trial/explore tries all of them.
//
// The dispatcher owns the machines of its names and calls them from one goroutine. It keeps each in an Entry.
//
//	caller          Lock                    Redis
//	Ask         ->  acquire 30s         ->
//	                                    <-  granted
//	a Hold      <-
//	                renew after 10s     ->
//	                                    <-  renewed
//	Unlock      ->  release             ->
//
// A Lock is the machine of mutexes and read-write locks. A Sequencer is the machine of semaphores and latches, which are a count in Redis.
//
// # Leases
//
// A Lease is one owner field in Redis. It counts from the moment at which its acquire was sent, so it ends here before it ends there. An
// owner id is not used again once its release was sent: a late copy of that release could free the lock under its next holder (invariant:
// released-owner-is-dead). While it is not known whether an owner id is in Redis, the machine asks for nothing else.
//
// # Competition
//
// The callers that wait in this process stand in the queue of a contest. rivals is what is known of other processes that want the name: the
// subscriptions to its channels, the last answer of Redis, the place in line, and the turns that this process leaves to others. It contains what is
// unfinished: owner ids that may still appear in Redis, adoptions, extensions. A name without waiters and rivals has neither of its own: it shares
// noContest and noRivals.
//
// # Rules
//
// Three rules bind every machine: at most one command in flight for each name; an owner id is dead once its release was sent; a loss is
// final. INVARIANTS.md has all.
package gate

import "time"

// Time is an instant of the engine's clock: nanoseconds since the engine was opened.
type Time = time.Duration

// Never is later than every instant.
const Never Time = 1<<63 - 1

// Centuries is the time of a last Wake, which settles all callers that are left.
const Centuries Time = 1 << 62

// CeilMillis rounds up to whole milliseconds, in which Redis counts.
func CeilMillis(d time.Duration) time.Duration {
	return (d + time.Millisecond - 1).Truncate(time.Millisecond)
}

// jitter spreads the sleeps of many processes. It is drawn from seed, which is a number of the machine, so that a replay draws the same.
func jitter(seed uint64, span time.Duration) time.Duration {
	if span <= 0 {
		return 0
	}
	seed = (seed ^ seed>>30) * 0xbf58476d1ce4e5b9
	return time.Duration((seed ^ seed>>31) % uint64(span))
}

// Result says how far a command came. Only Answered and UnderReplicated have a Reply.
type Result uint8

// The results of a command (the error table of dispatcher/rediserr decides).
const (
	Answered        Result = iota // the script ran
	NotSent                       // it surely did not leave: the link is down
	Again                         // it surely did not run, for a reason that will pass: LOADING, BUSY, ...
	Denied                        // it surely did not run, for a reason that will not pass: NOAUTH, NOPERM, ...
	Unknown                       // it left and got no answer: it may have run, or may still run
	UnderReplicated               // it ran, but too few replicas acknowledged it (invariant: replicas-acknowledge)
	Redirected                    // it surely did not run: another node serves the name. The dispatcher sends it there; no machine gets this
)
