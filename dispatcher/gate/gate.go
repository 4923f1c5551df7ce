// Package gate decides, for one name, what to ask of Redis and which caller to grant.
//
// A Machine is the state machine of one name. Its events are: a caller asks (Ask), waits no longer (Abandon) or gives back (Unlock),
// Redis answers (Answer), a message arrives (Message), an alarm is due (Wake). Each event takes the current time, changes the state, and
// fills in Effects: commands to send and channels to listen to; callers are answered at once. A machine does no I/O, starts no goroutine
// and reads no clock, so that a test can replay any order of events, and internal/trial/explore tries all of them.
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
// A Lock is the machine of mutexes and read-write locks; Semaphore, Latch and Permits are those of names that have a count.
//
// # Leases
//
// A Lease is one owner field in Redis. It counts from the moment at which its acquire was sent, so it ends here before it ends there. An
// owner id is not used again once its release was sent: a late copy of that release could free a lock that somebody holds
// (invariant: released-owner-is-dead). While it is not known whether an owner id is in Redis, nothing else is asked for its name.
//
// # Competition
//
// The callers that wait here stand in the queue of a contest. rivals is what is known of other processes that want the name: the
// subscription to its channel, what Redis last said, claims, and the turns that this process leaves to others. A name for which nobody
// waits, and which has no rivals, has neither: it shares noContest and noRivals.
//
// # Rules
//
// Three rules bind every machine (INVARIANTS.md has all): at most one command in flight for each name (11); an owner id is dead once its
// release was sent (4); a loss is final (3).
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
