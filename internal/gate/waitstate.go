package gate

// waitState is the callers that wait for an answer about a name: for the lock, or for the end of its release. A process
// may hold a million names for which nobody waits, so that a Mutex borrows a waitState only while somebody does.
type waitState struct {
	queue Queue
	pendingAck
}

// noWaiters is the waitState of every mutex for which nobody waits. It is never written to.
var noWaiters waitState
