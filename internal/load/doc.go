// Package load is the contention load of cmd/loadgen and bench/peers: callers that lock, hold, unlock and think, again and again, and the
// check that the lock kept its promise meanwhile. Package crew below runs it in several processes.
//
// A Plan (plan.go) says what one run does. A Rig (rig.go) runs the share of one process: it opens an engine and starts
// its callers (caller.go), each a goroutine (blocking.go) or a chain of callbacks (async.go). pick.go draws the next
// name; pace.go says when a call is due in an open loop. waker.go wakes callers at their times.
//
// All callers of a run use one kind of lock (kind.go). resource.go makes all kinds look alike, latch.go adapts the
// latch, and resources.go builds them. A comparison of libraries asks for more (client.go): other libraries than the engine, a new name for
// each call, a client for each caller, two callers that give one name to and fro (alternate.go).
//
// Every critical section enters and leaves the cell of its name (cell.go), which finds two sections that overlap; proof.go says what that
// proves for each kind. The cells of several processes are in shared memory (shared.go). A sample of the sections is also counted in Redis (witness.go). Results are recorded in
// shards (tally.go) and cut into Samples (sample.go), one a second, which can be added up over time and over processes.
// drain.go ends a run and finds waiters that nobody will ever serve.
//
// # Closed and open loop
//
// In a closed loop each caller asks again when its last call is over. A slow lock is then asked less often, and a stall of one second
// shows as one slow call of each caller: what the callers would have asked for meanwhile is missing (coordinated omission).
//
// In an open loop (Plan.Rate, which may grow from Plan.FromRate) the schedule of pace.go says when each call is due, whatever the lock does:
//
//  1. A free caller takes the next call of the schedule, and sleeps until the call is due.
//  2. It asks for the lock. From due to asked is the start lag: near 0 on an idle machine, more if all callers were busy.
//  3. It is granted the lock. Acquire counts from due, so that a stall of one second shows in all calls that were due in it.
//
// A call that no caller was free for stays in the schedule. It is in the backlog until it begins, and at the end of the measured time
// it is reported as not started.
//
// # How a cell finds an overlap
//
//  1. A is granted the lock, and swaps its mark into the cell. It finds 0: nobody is inside.
//  2. A leaves: it clears its mark, and calls Unlock only then.
//  3. B is granted the lock, and swaps its mark in. If the lock excludes, that is after 2, and B finds 0 too.
//
// If B finds A's mark, A had not called Unlock yet, so both are in the critical section: a violation. The comparison uses no
// clock, except for a hold with a fixed lease: its mark says when it ends. An overlap is not seen if A clears its mark before B puts
// its own in; with a Hold above 0 that is rare.
package load
