// Package load is the contention load: callers that lock, hold, unlock and think, again and again, and the check that
// the lock kept its promise meanwhile.
//
// A Plan (plan.go) says what one run does. A Rig (rig.go) runs the share of one process: it opens an engine and starts
// its callers (caller.go), each a goroutine (blocking.go) or a chain of callbacks (async.go). pick.go draws the next
// name; pace.go says when a call is due in an open loop. waker.go wakes callers at their times.
//
// All callers of a run use one kind of lock (kind.go). resource.go makes all kinds look alike, latch.go adapts the
// latch, and resources.go builds them. Every critical section enters and leaves the cell of its name (cell.go), which
// finds two sections that overlap; proof.go says what that proves for each kind. The cells of several processes are in
// shared memory (shared.go). A sample of the sections is also counted in Redis (witness.go). Results are recorded in
// shards (tally.go) and cut into Samples (sample.go), one a second, which can be added up over time and over processes.
// drain.go ends a run and finds waiters that nobody will ever serve.
package load
