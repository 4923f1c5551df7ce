package engine

import (
	"context"

	"github.com/wheellock/wheellock/futures"
)

// Mutex is a reentrant lock of one name, as Redisson's RLock on the same name. Any goroutine may use it. Any number of
// handles on one name are the same lock. Making a handle costs nothing and cannot fail: the name is checked when it is
// used.
type Mutex struct{ handle }

// Mutex returns the lock of a name. While engines wait for it, or for a FencedMutex, unlocks give it to them in turn, in the
// order in which they came, but for one in 100 ms to 1.7 s, which frees it for clients of other libraries. A caller that comes later does not pass
// them at any other time, and TryLock takes the lock only if it is free.
//
// A name has 1 to 1,024 bytes of any content. Calls fail with [ErrInvalid] for a name
// that Redisson's rules give to a key of another lock, of any kind, such as "redisson_lock_token:{a}", the fencing
// counter of "a".
func (e *Engine) Mutex(name string) *Mutex { return &Mutex{handle{e, name, mutexIndex}} }

// FencedMutex returns the fenced lock of a name, Redisson's RFencedLock. It is a Mutex, and its holds have a [Hold.Token],
// a number that grows with each new owner. Send the token with every write, and have the store refuse numbers that are
// lower than the highest it has seen. Then a holder that was paused past its lease can do no harm. A re-entry keeps the
// token.
//
// If only engines lock a name, its tokens do not repeat even if Redis loses its data, because they are never below the
// server's time in microseconds; the exception is a server clock that was set back further than the outage lasted. A
// Java service that locks the same name counts on from the last token, and starts at 1 if the counter is lost.
func (e *Engine) FencedMutex(name string) *Mutex { return &Mutex{handle{e, name, fencedIndex}} }

// SpinMutex returns the spin lock of a name, Redisson's RSpinLock. It is a Mutex that uses no messages. Its waiters ask
// again after 1 ms, doubling to 128 ms, or to 16 ms while the lock changes hands, and its unlock wakes nobody. It suits short waits, and a
// cluster in which messages go to every node. Its key in Redis is the key of the Mutex. Do not use both on one name, because the waiters
// of a Mutex would sleep.
//
// Its waiters have no order. A process with several keeps the lock for these for 60 to 90 ms at least, and which process has it next is left
// to chance: beside many such processes a single caller, or a thread of Redisson, may wait for seconds and have a tenth of an equal share, or
// less. A Mutex has a line.
func (e *Engine) SpinMutex(name string) *Mutex { return &Mutex{handle{e, name, spinIndex}} }

// SimpleMutex is a Mutex whose key is a string: see [Engine.SimpleMutex].
type SimpleMutex = Mutex

// SimpleMutex returns the simple lock of a name, which engines share with redis-py's Lock, node-redlock, redislock, redsync and whatever else
// locks by SET with NX and PX, and unlocks by comparing the value. The key is the name. The value of a hold is its [Hold.TenureID], with
// 130 random bits at its end. Any other string of up to 1 MB is a holder like any other, whatever its bytes, with or without a TTL.
//
// It is a Mutex in all else. Engines that wait for it stand in line, and unlocks give it to them in turn. But other libraries publish nothing:
// while one of them has the lock, the first engine in line asks again and again for all, after 1 ms and then ever more rarely, up to 100 ms.
// And they have no place in line, so at least once in 830 ms engines that compete for it leave the key free for 140 ms, and more often after they
// have met others.
// If no other library uses the name, a Mutex is the better lock.
//
// A name is locked by one kind: a Mutex finds a SimpleMutex's key, and the other way round, and fails with [ErrForeignKey].
func (e *Engine) SimpleMutex(name string) *SimpleMutex { return &Mutex{handle{e, name, simpleIndex}} }

// FairMutex returns the fair lock of a name, Redisson's RFairLock. It is a Mutex that serves in the order in which
// requests came to Redis, across processes, Go and Java alike. The price: no caller gets the lock without asking Redis,
// and each waiter has a place in a queue there. All waiters of one process keep their places alive together.
//
// If a process dies while its callers wait, the queue is delayed by Options.FairWaiterLease, once for all of them,
// provided that an engine like this one waits or unlocks. Java services alone skip such a waiter when they would skip
// one of their own: up to five minutes after the one before it was served (Redisson's fairLockWaitTimeout).
//
// A lease that is shorter than a round trip is granted in vain. Then all waiters of that process join the queue again, at its end.
//
// TryLock takes the lock if nobody has it and nobody waits; it never joins the queue. Use only FairMutex on such a
// name: other kinds would take the lock past the queue. By Redisson's rule "a" and "{a}" have one queue, so while one
// of them is in use the other is [ErrInvalid].
func (e *Engine) FairMutex(name string) *Mutex { return &Mutex{handle{e, name, fairIndex}} }

// Kind returns the kind of the lock: mutex, fenced, spin, simple, fair, read or write.
func (m *Mutex) Kind() Kind { return m.kind.text() }

// Lock waits until the lock is held. The watchdog renews the hold until Unlock, by [Options].Lease, unless [WithLease]
// gives it a fixed lease. Waiters of this process are served in the order of arrival, except that callers with the
// [Owner] that holds the lock enter at once.
//
// Lock waits for as long as ctx and [WithWait] allow, also while Redis refuses writes for a reason that may pass, or
// cannot be reached. If ctx ends first, the call is abandoned: a grant that comes later goes to the next waiter or is
// released. So does a grant that has come, if ctx has ended by the time Lock would return it: a Hold is returned only under a
// context that lasts. What becomes of ctx afterwards does not matter to the Hold. The errors are:
//
//   - ctx.Err() and context.Cause(ctx) if ctx ended, [ErrWaitTimeout] if WithWait was over. The error also says what
//     was last known of the lock, see ErrWaitTimeout.
//   - [ErrRefused] if the server refused for a reason that does not pass, such as a missing right.
//   - [ErrOverloaded] if too many requests wait already.
//   - [ErrInvalid], [ErrForeignKey] and [ErrDeadlock] for errors of the caller, such as a ctx that ends with a hold of the same name.
//   - [ErrClosed] if the engine closes.
func (m *Mutex) Lock(ctx context.Context, opts ...LockOption) (*Hold, error) {
	return m.take(ctx, "lock", 0, false, opts)
}

// TryLock asks Redis once and does not wait for another owner. While this process holds the lock or callers of it wait
// for the lock, it asks nobody and fails with [ErrHeld] at once. Re-entry by [WithOwner] succeeds. Leases are as with
// Lock; [WithWait] is [ErrInvalid].
//
// If ctx has no deadline, TryLock waits for the answer for [Options].AnswerTimeout. If ctx or that time ends first, the
// engine releases what the command may have taken. A grant goes back as with Lock if ctx has ended when TryLock would return it.
// The errors are:
//
//   - [ErrHeld], with a [HeldError] for errors.As, if another owner has the lock.
//   - [ErrNotSent] if Redis cannot be reached and this process does not hold the lock.
//   - [ErrUncertain] if the answer was lost, or came too late.
//   - [ErrRefused] if the server refused for any reason, [ErrNotReplicated] if too few replicas have the grant.
//   - ctx.Err() and context.Cause(ctx) if ctx ended.
//   - [ErrOverloaded], [ErrInvalid], [ErrForeignKey], [ErrDeadlock] and [ErrClosed] as with Lock.
func (m *Mutex) TryLock(ctx context.Context, opts ...LockOption) (*Hold, error) {
	return m.take(ctx, "lock", 0, true, opts)
}

// LockAsync is Lock without blocking: it returns at once, and the future gets Lock's hold or error. A waiting future
// costs no goroutine. The end of ctx and the future's Cancel abandon the request; a grant that comes later goes to the
// next waiter or is released. A future that has its Hold keeps it when ctx ends, however late somebody looks: the engine
// cannot know where else the future is read, so the caller must unlock the hold. The same is true of a grant that comes in the
// moment in which ctx ends, before the engine is told. A caller that only stops waiting for the future still gets the lock.
// Callbacks of the future run on the engine's workers and may block.
func (m *Mutex) LockAsync(ctx context.Context, opts ...LockOption) *futures.Future[*Hold] {
	return takeAsync[*Hold](ctx, &m.handle, "lock", 0, false, opts)
}

// TryLockAsync is TryLock without blocking: it returns at once, and the future gets TryLock's hold or error.
// Cancellation is as with LockAsync.
func (m *Mutex) TryLockAsync(ctx context.Context, opts ...LockOption) *futures.Future[*Hold] {
	return takeAsync[*Hold](ctx, &m.handle, "lock", 0, true, opts)
}
