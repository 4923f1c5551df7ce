// Package load is the contention load: callers that lock, stay, unlock and think, again and again, and the
// proof that the lock kept its promise meanwhile.
//
// A Plan (plan.go) says what one run does. A Rig (rig.go) runs the share of it that falls to one process: it
// opens an engine and starts its callers (caller.go), each a goroutine (blocking.go) or a chain of callbacks
// (async.go). Which name comes next is drawn in pick.go, when a call is due in an open loop stands in pace.go.
//
// What they ask for is of one kind (kind.go): resource.go makes all kinds look alike, latch.go what is no lock,
// resources.go builds them. Every critical section enters and leaves the cell of its name (cell.go), which finds
// two that overlap; what that proves for each kind is in proof.go. The cells of several processes are one piece
// of shared memory (shared.go). A sample of the sections is also counted in Redis (witness.go). What happened is recorded in shards (tally.go) and cut into Samples
// (sample.go), one a second, which can be added up over time and over processes. drain.go ends a run and
// finds waiters that nobody will ever serve.
package load
