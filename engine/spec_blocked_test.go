package engine_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/futures"
	"github.com/wheellock/wheellock/internal/testkit"
)

// Callbacks may block. All workers are blocked here, so that whatever else the engine runs on one shows twice: it is late by 50 ms, and it
// is counted in Stats.Overflowed.

// blockCallbacks blocks all workers of engines with so many until the end.
func (b *bubble) blockCallbacks(workers int, engines ...*engine.Engine) {
	unblock := make(chan struct{})
	b.Cleanup(func() { close(unblock) })
	for _, e := range engines {
		h := b.lock(e.Mutex("a name for callbacks"))
		f := h.UnlockAsync()
		b.wantNil("UnlockAsync", testkit.ResultOf(f.Wait(b.Context())))
		for range workers {
			f.Then(func(struct{}, error) { <-unblock })
		}
	}
	synctest.Wait()
}

// wantAtOnce fails the test if do takes time, which the network does not here.
func (b *bubble) wantAtOnce(what string, do func() error) {
	b.Helper()
	began := time.Now()
	b.wantNil(what, do())
	if took := time.Since(began); took != 0 {
		b.Errorf("%s took %v", what, took)
	}
}

func waitFor[T any](ctx context.Context, f *futures.Future[T]) error {
	return testkit.ResultOf(f.Wait(ctx))
}

func TestSpecBlockedCallbacksDelayNothing(t *testing.T) {
	t.Parallel()
	of := map[string]func(*testing.T, *engine.Engine) engine.Locker{
		"read":  func(_ *testing.T, e *engine.Engine) engine.Locker { return e.RWMutex("stock:7").Reader() },
		"write": func(_ *testing.T, e *engine.Engine) engine.Locker { return e.RWMutex("stock:7").Writer() },
		"multi": func(t *testing.T, e *engine.Engine) engine.Locker {
			all, err := e.All("stock:7", "stock:8", "stock:9")
			return must(t, all, err)
		},
		"quorum": func(t *testing.T, e *engine.Engine) engine.Locker {
			q, err := engine.Quorum("stock:7", e)
			return must(t, q, err)
		},
		"multi of a quorum and a multi": func(t *testing.T, e *engine.Engine) engine.Locker {
			q, err := engine.Quorum("stock:7", e)
			must(t, q, err)
			all, err := e.All("stock:8", "stock:9")
			must(t, all, err)
			both, err := engine.Multi(q, all)
			return must(t, both, err)
		},
	}
	for kind, mutex := range mutexes {
		of[kind] = func(_ *testing.T, e *engine.Engine) engine.Locker { return mutex(e, "stock:7") }
	}
	const workers = 2
	for kind, lock := range of {
		t.Run("invariant: loop-never-waits: "+kind, spec(engine.Options{Callbacks: workers}, func(b *bubble) {
			other := b.another(engine.Options{Callbacks: workers})
			b.blockCallbacks(workers, b.Engine, other)
			ctx, l := b.Context(), lock(b.T, b.Engine)
			var h *engine.Hold
			for what, take := range map[string]func() (*engine.Hold, error){
				"Lock":         func() (*engine.Hold, error) { return l.Lock(ctx) },
				"TryLock":      func() (*engine.Hold, error) { return l.TryLock(ctx) },
				"LockAsync":    func() (*engine.Hold, error) { return l.LockAsync(ctx).Wait(ctx) },
				"TryLockAsync": func() (*engine.Hold, error) { return l.TryLockAsync(ctx).Wait(ctx) },
			} {
				take := func() (err error) { h, err = take(); return err }
				b.wantAtOnce(what, take)
				b.wantAtOnce("Unlock", func() error { return h.Unlock(ctx) })
				b.wantAtOnce(what, take)
				b.wantAtOnce("UnlockAsync", func() error { return waitFor(ctx, h.UnlockAsync()) })
			}
			taken := lock(b.T, other)
			if kind == "read" {
				taken = other.RWMutex("stock:7").Writer()
			}
			for range 3 { // a MultiLock waits for one member, and asks again for all
				h = b.lock(taken)
				b.wantAtOnce("TryLockAsync in vain", func() error {
					b.wantIs("TryLockAsync", waitFor(ctx, l.TryLockAsync(ctx)), engine.ErrHeld)
					return nil
				})
				blocking := b.queue(l)
				time.Sleep(time.Second)
				b.unlock(h)
				h = blocking.granted()
				async := lock(b.T, other).LockAsync(ctx)
				time.Sleep(time.Second)
				b.wantNil("UnlockAsync", waitFor(ctx, h.UnlockAsync()))
				h, err := async.Wait(ctx)
				b.wantNil("LockAsync", err)
				b.unlock(h)
			}
			b.wantNoOverflow(other)
		}))
	}
	for kind, use := range map[string]func(b *bubble, other *engine.Engine){
		"semaphore": func(b *bubble, other *engine.Engine) {
			ctx, s := b.Context(), b.Semaphore("permits")
			b.wantNil("TrySetPermits", testkit.ResultOf(s.TrySetPermits(ctx, 1)))
			b.wantAtOnce("AcquireAsync", func() error { return waitFor(ctx, s.AcquireAsync(ctx, 1)) })
			waits := other.Semaphore("permits").AcquireAsync(ctx, 1)
			synctest.Wait()
			b.wantAtOnce("ReleaseAsync", func() error { return waitFor(ctx, s.ReleaseAsync(ctx, 1)) })
			b.wantAtOnce("AcquireAsync that waited", func() error { return waitFor(ctx, waits) })
		},
		"permits": func(b *bubble, other *engine.Engine) {
			ctx, p := b.Context(), b.PermitSemaphore("permits")
			b.wantNil("TrySetPermits", testkit.ResultOf(p.TrySetPermits(ctx, 1)))
			var h *engine.Hold
			b.wantAtOnce("AcquireAsync", func() (err error) { h, err = p.AcquireAsync(ctx, 1).Wait(ctx); return err })
			waits := other.PermitSemaphore("permits").AcquireAsync(ctx, 1)
			synctest.Wait()
			b.wantAtOnce("UnlockAsync", func() error { return waitFor(ctx, h.UnlockAsync()) })
			b.wantAtOnce("AcquireAsync that waited", func() error { return waitFor(ctx, waits) })
		},
		"latch": func(b *bubble, other *engine.Engine) {
			ctx, l := b.Context(), b.CountDownLatch("latch")
			b.wantNil("TrySetCount", testkit.ResultOf(l.TrySetCount(ctx, 1)))
			waits := other.CountDownLatch("latch").WaitAsync(ctx)
			synctest.Wait()
			b.wantAtOnce("CountDown", func() error { return l.CountDown(ctx) })
			b.wantAtOnce("WaitAsync", func() error { return waitFor(ctx, waits) })
		},
	} {
		t.Run("invariant: loop-never-waits: "+kind, spec(engine.Options{Callbacks: workers}, func(b *bubble) {
			other := b.another(engine.Options{Callbacks: workers})
			b.blockCallbacks(workers, b.Engine, other)
			use(b, other)
			b.wantNoOverflow(other)
		}))
	}
	t.Run("the parts of a MultiLock with a short lease are not lost before its answer is read", spec(engine.Options{Callbacks: workers}, func(b *bubble) {
		b.blockCallbacks(workers, b.Engine)
		h, err := of["multi"](b.T, b.Engine).TryLock(b.Context(), engine.WithLease(50*time.Millisecond))
		b.wantNil("TryLock", err)
		if err == nil {
			b.unlock(h)
		}
	}))
}

// A QuorumLock that leaves the line of a server that is down gives back what it may still get there.
func TestSpecBlockedCallbacksDoNotDelayWhoLeavesALine(t *testing.T) {
	opts := engine.Options{Callbacks: 1, Lease: time.Second}
	specQuorum(opts, func(q *majority) {
		q.occupied(0)
		q.occupied(1)
		q.blockCallbacks(1, q.engines...)
		waits := q.queue(q.lock)
		time.Sleep(500 * time.Millisecond)
		q.redis.SetDown(true)
		time.Sleep(5 * time.Second)
		waits.wantWaiting()
		waits.cancel(context.Canceled)
		q.redis.SetDown(false)
		q.wantNoOverflow(q.engines[1:]...)
	})(t)
}

// wantNoOverflow fails the test if anything has waited for a worker.
func (b *bubble) wantNoOverflow(others ...*engine.Engine) {
	b.Helper()
	time.Sleep(time.Second)
	for _, e := range append(others, b.Engine) {
		if n := e.Stats().Overflowed; n != 0 {
			b.Errorf("%d steps of the engine waited for a callback worker", n)
		}
	}
}

func must[T any](t *testing.T, v T, err error) T {
	t.Helper()
	testkit.Must(t, err)
	return v
}
