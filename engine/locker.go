package engine

import (
	"context"
	"errors"

	"github.com/wheellock/wheellock/futures"
)

// Locker is anything that can be locked as a whole. It is sealed: only this package implements it.
type Locker interface {
	Name() string
	// Lock waits until the lock is held, ctx ends or WithWait is over. A Hold or an error, never both.
	Lock(ctx context.Context, opts ...LockOption) (*Hold, error)
	// TryLock asks once; *HeldError when it is taken.
	TryLock(ctx context.Context, opts ...LockOption) (*Hold, error)
	// LockAsync is Lock without blocking. The end of ctx, or Cancel, abandons it; a grant that comes late is released.
	LockAsync(ctx context.Context, opts ...LockOption) *futures.Future[*Hold]
	// TryLockAsync is TryLock without blocking.
	TryLockAsync(ctx context.Context, opts ...LockOption) *futures.Future[*Hold]

	keys() ([]lockKey, error) // what it locks
	home() *Engine            // whose options and workers it uses
}

// Do locks l, runs fn and unlocks, also when fn panics. fn's context ends when the lock is lost. The error
// is fn's, joined with ErrLost if the lock was lost before fn returned, and with what went wrong in
// unlocking. Unlocking does not stop when ctx ends.
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
