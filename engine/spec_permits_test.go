package engine_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/testkit"
)

// permitsOf are the permits of one kind, as tests of both kinds use them.
type permitsOf struct {
	set     func(e *engine.Engine, ctx context.Context, n int64) error
	acquire func(e *engine.Engine, ctx context.Context, n int, opts ...engine.LockOption) (free func() error, err error)
	try     func(e *engine.Engine, ctx context.Context, n int) error
}

var bothKindsOfPermits = map[string]permitsOf{
	"Semaphore": {
		set: func(e *engine.Engine, ctx context.Context, n int64) error {
			return testkit.ResultOf(e.Semaphore("pool").TrySetPermits(ctx, n))
		},
		acquire: func(e *engine.Engine, ctx context.Context, n int, opts ...engine.LockOption) (func() error, error) {
			s := e.Semaphore("pool")
			return func() error { return s.Release(context.Background(), int64(n)) }, s.Acquire(ctx, int64(n), opts...)
		},
		try: func(e *engine.Engine, ctx context.Context, n int) error {
			return e.Semaphore("pool").TryAcquire(ctx, int64(n))
		},
	},
	"PermitSemaphore": {
		set: func(e *engine.Engine, ctx context.Context, n int64) error {
			return testkit.ResultOf(e.PermitSemaphore("pool").TrySetPermits(ctx, n))
		},
		acquire: func(e *engine.Engine, ctx context.Context, n int, opts ...engine.LockOption) (func() error, error) {
			h, err := e.PermitSemaphore("pool").Acquire(ctx, n, opts...)
			return func() error { return h.Unlock(context.Background()) }, err
		},
		try: func(e *engine.Engine, ctx context.Context, n int) error {
			return testkit.ResultOf(e.PermitSemaphore("pool").TryAcquire(ctx, n))
		},
	},
}

// rivals has two processes with four callers each take one of four permits, again and again, for as long as ctx lasts. It returns how many
// grants there were so far.
func (b *bubble) rivals(p permitsOf, ctx context.Context, keep time.Duration) func() int {
	var mu sync.Mutex
	var grants int
	var callers sync.WaitGroup
	for range 2 {
		e := b.another(engine.Options{})
		for range 4 {
			callers.Go(func() {
				for {
					free, err := p.acquire(e, ctx, 1)
					if err != nil {
						return
					}
					mu.Lock()
					grants++
					mu.Unlock()
					time.Sleep(keep)
					b.wantNil("the release", free())
				}
			})
		}
	}
	b.Cleanup(callers.Wait)
	return func() int {
		mu.Lock()
		defer mu.Unlock()
		return grants
	}
}

// An acquire of several permits gets its turn beside processes that want one each, within what its godoc says. One that wants more than there
// are does not keep the others for long.
// invariant: others-get-a-turn
func TestSeveralPermitsHaveTheirTurn(t *testing.T) {
	for name, p := range bothKindsOfPermits {
		for _, tt := range []struct{ keep, most time.Duration }{{10 * time.Millisecond, time.Second}, {time.Second, 12 * time.Second}} {
			t.Run(name+" kept for "+tt.keep.String(), spec(engine.Options{}, func(b *bubble) {
				ctx, stop := context.WithCancel(b.Context())
				b.wantNil("TrySetPermits", p.set(b.Engine, ctx, 4))
				grants := b.rivals(p, ctx, tt.keep)
				time.Sleep(5 * tt.keep)
				for range 5 {
					before, began := grants(), time.Now()
					free, err := p.acquire(b.Engine, ctx, 4)
					if took := time.Since(began); err != nil || took > tt.most {
						b.Errorf("all four after %v: %v; want them within %v", took, err, tt.most)
					}
					b.wantNil("the release", free())
					if time.Sleep(2 * tt.keep); grants() == before {
						b.Error("the others have none meanwhile")
					}
				}
				stop()
			}))
		}
		t.Run(name+" of which there are too few", spec(engine.Options{}, func(b *bubble) {
			ctx, stop := context.WithCancel(b.Context())
			b.wantNil("TrySetPermits", p.set(b.Engine, ctx, 4))
			grants := b.rivals(p, ctx, 100*time.Millisecond)
			time.Sleep(20 * time.Second)
			alone := grants()
			_, err := p.acquire(b.Engine, ctx, 5, engine.WithWait(20*time.Second))
			b.wantIs("Acquire of five", err, engine.ErrWaitTimeout, engine.ErrHeld)
			if beside := grants() - alone; beside < alone*3/4 {
				b.Errorf("beside it the others have %d grants in 20s, alone %d", beside, alone)
			}
			stop()
		}))
	}
}

// Permits that were never given, or that Redis has lost, are told as such.
func TestNoPermitsAtAllAreTold(t *testing.T) {
	const text = "it was never given any permits, or Redis has lost them"
	for name, p := range bothKindsOfPermits {
		t.Run(name, spec(engine.Options{}, func(b *bubble) {
			told := func(what string, err error, want bool) {
				b.Helper()
				if b.wantIs(what, err, engine.ErrHeld); want {
					testkit.Mentions(b, err, text)
				} else {
					testkit.Mentions(b, err, "too few permits are free")
				}
			}
			wait := func() error {
				_, err := p.acquire(b.Engine, b.Context(), 1, engine.WithWait(time.Second))
				return err
			}
			told("TryAcquire", p.try(b.Engine, b.Context(), 1), true)
			told("Acquire", wait(), true)
			b.wantNil("TrySetPermits", p.set(b.Engine, b.Context(), 0))
			told("TryAcquire of none that are free", p.try(b.Engine, b.Context(), 1), false)
			told("Acquire of none that are free", wait(), false)
			ended := make(chan error)
			go func() { ended <- wait() }()
			synctest.Wait()
			b.redis.Do("DEL", "pool")
			time.Sleep(600 * time.Millisecond)
			told("TryAcquire beside one that waits", p.try(b.Engine, b.Context(), 1), true)
			err := <-ended
			told("Acquire, of what was lost meanwhile", err, true)
			if !errors.Is(err, engine.ErrWaitTimeout) {
				b.Errorf("Acquire = %v", err)
			}
		}))
	}
}
