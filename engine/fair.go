package engine

// FairMutex returns the fair lock of a name, Redisson's RFairLock. It is a Mutex that serves in the order in which
// requests came to Redis, across processes, Go and Java alike. The price: no caller gets the lock without asking Redis,
// and each waiter has a place in a queue there. All waiters of one process keep their places alive together.
//
// If a process dies while its callers wait, the queue is delayed by Options.FairWaiterLease, once for all of them,
// provided that an engine like this one waits or unlocks. Java services alone skip such a waiter when they would skip
// one of their own: up to five minutes after the one before it was served (Redisson's fairLockWaitTimeout).
//
// TryLock takes the lock if nobody has it and nobody waits; it never joins the queue. Use only FairMutex on such a
// name: other kinds would take the lock past the queue. By Redisson's rule "a" and "{a}" have one queue, so while one
// of them is in use the other is [ErrInvalid].
func (e *Engine) FairMutex(name string) *Mutex { return &Mutex{handle{e, name, fairIndex}} }
