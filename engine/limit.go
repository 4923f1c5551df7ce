package engine

import (
	"context"
	"slices"

	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/futures"
)

// Limit is how many callers of all processes may be inside at once. It is a [Locker]: its Lock takes one of at most n permits of the
// [PermitSemaphore] of its name, which a Java service finds as an RPermitExpirableSemaphore. Nothing is to be set up: n travels with each
// call that asks Redis, which makes it the number of permits, those that are held among them. So a program that is deployed with another n
// takes effect with its next call, and a limit that shrinks ends no hold: nobody comes in until fewer than n are held. If two programs use
// different n for one name, the last call counts, also for callers that wait already: in another process [Options].HandoffTime later, for
// which permits pass from caller to caller there. [PermitSemaphore.Available] and
// [PermitSemaphore.Acquired] say how many permits are free and held, so their sum is n.
//
// A permit whose process has died comes back by its lease. A name that nobody uses leaves nothing in Redis after a day, unless its permits
// were set by a call of the PermitSemaphore, or of Java: until then those find n permits, afterwards none.
type Limit struct {
	handle
	n, permits int64
}

// Limit returns the limit of n, from 1 to 2^50, under a name. Names are as in [Engine.PermitSemaphore]. Making it costs nothing and cannot
// fail: name and n are checked when it is used, and calls fail with [ErrInvalid] before anything is taken.
func (e *Engine) Limit(name string, n int) *Limit {
	return &Limit{handle{e, name, permitsIndex}, int64(n), 1}
}

// Of returns a Locker of k permits at once, from 1 to n and to 1,000, for a caller that counts as several. It gets its turn beside callers that want
// fewer, as [Semaphore.Acquire] says.
func (l *Limit) Of(k int) Locker { return &Limit{l.handle, l.n, int64(k)} }

// Kind returns [KindPermits].
func (l *Limit) Kind() Kind { return l.kind.text() }

// Lock waits until fewer than n permits are held and takes one. Callers of this process are served in the order of arrival. Leases,
// cancellation and errors are as with [PermitSemaphore.Acquire].
func (l *Limit) Lock(ctx context.Context, opts ...LockOption) (*Hold, error) {
	return l.take(ctx, "acquire", l.permits, false, l.with(opts))
}

// TryLock asks once and does not wait. It is [PermitSemaphore.TryAcquire]: at the limit the error Is [ErrHeld].
func (l *Limit) TryLock(ctx context.Context, opts ...LockOption) (*Hold, error) {
	return l.take(ctx, "acquire", l.permits, true, l.with(opts))
}

// LockAsync is Lock without blocking. Cancellation is as with [PermitSemaphore.AcquireAsync].
func (l *Limit) LockAsync(ctx context.Context, opts ...LockOption) *futures.Future[*Hold] {
	return takeAsync[*Hold](ctx, &l.handle, "acquire", l.permits, false, l.with(opts))
}

// TryLockAsync is TryLock without blocking. Cancellation is as with LockAsync.
func (l *Limit) TryLockAsync(ctx context.Context, opts ...LockOption) *futures.Future[*Hold] {
	return takeAsync[*Hold](ctx, &l.handle, "acquire", l.permits, true, l.with(opts))
}

// with adds n to the options of a call.
func (l *Limit) with(opts []LockOption) []LockOption {
	return append(slices.Clip(opts), LockOption{which: limitOption, value: l.n})
}

// keys fails also if n or the number of permits is wrong: a MultiLock then takes nothing of the others.
func (l *Limit) keys() ([]lockKey, error) {
	t := l.operation("acquire")
	if _, err := t.fill(context.Background(), l.permits, true, l.with(nil), &gate.Waiter{}); err != nil {
		return nil, err
	}
	return l.handle.keys()
}
