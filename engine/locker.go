package engine

import (
	"context"
	"errors"

	"github.com/wheellock/wheellock/futures"
)

// Locker is any lock that is taken as a whole: a [Mutex] of every kind, a [Limit], a [MultiLock] or a [QuorumLock]. Only this
// package implements it.
type Locker interface {
	// Name returns the name as it was given; of several locks, all names.
	Name() string
	// Kind returns the kind of the lock, as an [Observer] is told of it.
	Kind() Kind
	// Lock waits until the lock is held, ctx ends or WithWait is over. It returns a Hold or an error, never both. See
	// [Mutex.Lock] for leases and errors.
	Lock(ctx context.Context, opts ...LockOption) (*Hold, error)
	// TryLock asks once and does not wait. The error Is ErrHeld if another owner has the lock. See [Mutex.TryLock].
	TryLock(ctx context.Context, opts ...LockOption) (*Hold, error)
	// LockAsync is Lock without blocking. The end of ctx and the future's Cancel abandon the request; a grant that comes
	// later is released.
	LockAsync(ctx context.Context, opts ...LockOption) *futures.Future[*Hold]
	// TryLockAsync is TryLock without blocking.
	TryLockAsync(ctx context.Context, opts ...LockOption) *futures.Future[*Hold]

	keys() ([]lockKey, error)                  // what it locks
	cutOff() bool                              // Redis is known not to be reachable for too much of it
	home() *Engine                             // the engine: its options and workers are used
	waitsFor(holds []*Hold, owner uint64) bool // a call that ends with these holds could never be granted
}

// Do locks l, runs fn and unlocks, even if fn panics. The context that fn gets ends when the lock is lost; fn must then
// stop its work. opts and the waiting are those of Lock; if Lock fails, Do returns its error and fn does not run.
//
// The error is fn's, joined with [ErrLost] if the lock was lost before fn returned, and with the error of the unlock.
// The unlock does not stop when ctx ends. fn may unlock the hold itself.
func Do(ctx context.Context, l Locker, fn func(context.Context, *Hold) error, opts ...LockOption) (err error) {
	h, err := l.Lock(ctx, opts...)
	if err != nil {
		return err
	}
	defer func() {
		unlocked := h.Unlock(context.WithoutCancel(ctx))
		if !errors.Is(unlocked, ErrUnlocked) { // fn may have unlocked it itself
			err = errors.Join(err, unlocked)
		}
	}()
	inside, leave := context.WithCancelCause(ctx)
	defer leave(nil)
	return fn(h.Context(inside), h)
}
