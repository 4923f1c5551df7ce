package faults_test

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/futures"
	"github.com/wheellock/wheellock/internal/testkit"
)

// lockSource is a lock.
type lockSource struct{ engine.Locker }

func (l lockSource) get(ctx context.Context, opts ...engine.LockOption) (taken, error) {
	return held(l.Lock(ctx, opts...))
}

func (l lockSource) try(ctx context.Context, opts ...engine.LockOption) (taken, error) {
	return held(l.TryLock(ctx, opts...))
}

func (l lockSource) async(ctx context.Context) under { return pending(l.LockAsync(ctx)) }

func held(h *engine.Hold, err error) (taken, error) {
	if err != nil {
		return taken{}, err
	}
	return taken{h, 1, h.Unlock}, nil
}

func pending(f *futures.Future[*engine.Hold]) under {
	return under{f.Cancel, func(ctx context.Context) (taken, error) { return held(f.Wait(ctx)) }}
}

func multiSource(e []*engine.Engine, name string) source {
	m, err := engine.Multi(e[0].Mutex(name+"/a"), e[0].Mutex(name+"/b"))
	if err != nil {
		panic(err)
	}
	return lockSource{m}
}

func quorumSource(e []*engine.Engine, name string) source {
	q, err := engine.Quorum(name, e...)
	if err != nil {
		panic(err)
	}
	return lockSource{q}
}

// somePermits takes n permits, whose holder is known.
type somePermits struct {
	*engine.PermitSemaphore
	n int
}

func permitSource(e []*engine.Engine, name string) source {
	return somePermits{e[0].PermitSemaphore(name), 1 + rand.IntN(2)}
}

func allPermits(e []*engine.Engine, name string) source {
	return somePermits{e[0].PermitSemaphore(name), several}
}

func (s somePermits) get(ctx context.Context, opts ...engine.LockOption) (taken, error) {
	return s.sized(held(s.Acquire(ctx, s.n, opts...)))
}

func (s somePermits) try(ctx context.Context, opts ...engine.LockOption) (taken, error) {
	return s.sized(held(s.TryAcquire(ctx, s.n, opts...)))
}

func (s somePermits) async(ctx context.Context) under { return pending(s.AcquireAsync(ctx, s.n)) }

func (s somePermits) sized(got taken, err error) (taken, error) {
	got.room = int64(s.n)
	return got, err
}

// someOfSemaphore takes n permits.
type someOfSemaphore struct {
	*engine.Semaphore
	n int64
}

func semaphoreSource(e []*engine.Engine, name string) source {
	return someOfSemaphore{e[0].Semaphore(name), 1 + rand.Int64N(2)}
}

func allOfSemaphore(e []*engine.Engine, name string) source {
	return someOfSemaphore{e[0].Semaphore(name), several}
}

func (s someOfSemaphore) give(ctx context.Context) error { return s.Release(ctx, s.n) }

func (s someOfSemaphore) get(ctx context.Context, opts ...engine.LockOption) (taken, error) {
	return taken{room: s.n, back: s.give}, s.Acquire(ctx, s.n, opts...)
}

func (s someOfSemaphore) try(ctx context.Context, opts ...engine.LockOption) (taken, error) {
	return taken{room: s.n, back: s.give}, s.TryAcquire(ctx, s.n, opts...)
}

func (s someOfSemaphore) async(ctx context.Context) under {
	f := s.AcquireAsync(ctx, s.n)
	return under{f.Cancel, func(ctx context.Context) (taken, error) {
		return taken{room: s.n, back: s.give}, testkit.ResultOf(f.Wait(ctx))
	}}
}

// latchWait waits for a latch, and has nothing then.
type latchWait struct{ *engine.CountDownLatch }

func latchSource(e []*engine.Engine, name string) source { return latchWait{e[0].CountDownLatch(name)} }

func nothing(context.Context) error { return nil }

func (l latchWait) get(ctx context.Context, opts ...engine.LockOption) (taken, error) {
	return taken{back: nothing}, l.Wait(ctx, opts...)
}

func (l latchWait) try(ctx context.Context, opts ...engine.LockOption) (taken, error) {
	return l.get(ctx, opts...) // there is no other way
}

func (l latchWait) async(ctx context.Context) under {
	f := l.WaitAsync(ctx)
	return under{f.Cancel, func(ctx context.Context) (taken, error) { return taken{back: nothing}, testkit.ResultOf(f.Wait(ctx)) }}
}

// latchSet shuts a latch, and opens it.
type latchSet struct{ latchWait }

func latchShut(e []*engine.Engine, name string) source {
	return latchSet{latchWait{e[0].CountDownLatch(name)}}
}

func (l latchSet) get(ctx context.Context, _ ...engine.LockOption) (taken, error) {
	set, err := l.TrySetCount(ctx, 1)
	if err == nil && !set {
		err = fmt.Errorf("the latch %s is shut already", l.Name())
	}
	return taken{back: l.CountDown}, err
}
