package load

import (
	"context"

	"github.com/wheellock/wheellock/engine"
)

// resource is one synchroniser of some kind, as callers use it.
type resource interface {
	// get waits for a grant.
	get(ctx context.Context, opts []engine.LockOption) (Grant, error)
	// getAsync tells ch of it.
	getAsync(ctx context.Context, opts []engine.LockOption, ch *chain)
}

// Grant is what a caller has got, and must give back.
type Grant interface {
	Unlock(ctx context.Context) error
}

// ended reports whether a grant has ended by itself. Of what is no hold nobody knows.
func ended(g Grant) bool {
	h, held := g.(*engine.Hold)
	return held && h.Err() != nil
}

// locker is a lock.
type locker struct{ engine.Locker }

func (l locker) get(ctx context.Context, opts []engine.LockOption) (Grant, error) {
	return held(l.Lock(ctx, opts...))
}

func (l locker) getAsync(ctx context.Context, opts []engine.LockOption, ch *chain) {
	l.LockAsync(ctx, opts...).Then(ch.onHold)
}

// held is a hold, or nothing at all.
func held(h *engine.Hold, err error) (Grant, error) {
	if err != nil {
		return nil, err
	}
	return h, nil
}

// permits is one permit of a semaphore with holders of permits.
type permits struct{ *engine.PermitSemaphore }

func (p permits) get(ctx context.Context, opts []engine.LockOption) (Grant, error) {
	return held(p.Acquire(ctx, 1, opts...))
}

func (p permits) getAsync(ctx context.Context, opts []engine.LockOption, ch *chain) {
	p.AcquireAsync(ctx, 1, opts...).Then(ch.onHold)
}

// semaphore is one permit of a semaphore, both before it is taken and after: it has no holders.
type semaphore struct{ *engine.Semaphore }

func (s semaphore) get(ctx context.Context, opts []engine.LockOption) (Grant, error) {
	return s, s.Acquire(ctx, 1, opts...)
}

func (s semaphore) getAsync(ctx context.Context, opts []engine.LockOption, ch *chain) {
	s.AcquireAsync(ctx, 1, opts...).Then(ch.onPermit)
}

func (s semaphore) Unlock(ctx context.Context) error { return s.Release(ctx, 1) }

// giveBack gives back what a chain has got.
func (c *chain) giveBack() {
	switch g := c.hold.(type) {
	case *engine.Hold:
		g.UnlockAsync().Then(c.onReleased)
	case semaphore:
		g.ReleaseAsync(context.Background(), 1).Then(c.onReleased)
	default: // there is no asynchronous way to count down
		go func() { c.toFinish(struct{}{}, g.Unlock(context.Background())) }()
	}
}
