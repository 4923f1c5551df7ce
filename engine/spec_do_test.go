package engine_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/testkit"
)

func TestSpecDo(t *testing.T) {
	t.Parallel()
	errWork := errors.New("work failed")

	t.Run("runs fn under the lock, and unlocks", specClean(engine.Options{}, func(b *bubble) {
		m := b.Mutex("stock:7")
		err := engine.Do(b.Context(), m, func(ctx context.Context, h *engine.Hold) error {
			b.wantHeld(h)
			b.wantKeys("stock:7")
			b.wantIs("TryLock inside", testkit.ResultOf(m.TryLock(ctx)), engine.ErrHeld)
			b.wantNil("ctx.Err", ctx.Err())
			return nil
		})
		b.wantNil("Do", err)
	}))
	t.Run("returns fn's error, and nothing else", specClean(engine.Options{}, func(b *bubble) {
		err := engine.Do(b.Context(), b.Mutex("stock:7"), func(context.Context, *engine.Hold) error { return errWork })
		b.wantIs("Do", err, errWork)
		b.wantIsNot("Do", err, engine.ErrLost, engine.ErrUnlocked, engine.ErrUnavailable)
	}))
	t.Run("does not run fn when it does not get the lock", spec(engine.Options{}, func(b *bubble) {
		b.lock(b.Mutex("stock:7"))
		err := engine.Do(b.Context(), b.Mutex("stock:7"), func(context.Context, *engine.Hold) error {
			b.Error("fn runs")
			return nil
		}, engine.WithWait(time.Second))
		b.wantIs("Do", err, engine.ErrWaitTimeout)
	}))
	t.Run("ends fn's context when the lock is lost, and joins ErrLost", spec(engine.Options{}, func(b *bubble) {
		err := engine.Do(b.Context(), b.Mutex("stock:7"), func(ctx context.Context, h *engine.Hold) error {
			b.redis.Lose("stock:7")
			<-ctx.Done()
			b.wantIs("cause", causeOf(ctx), engine.ErrLost)
			return errWork
		})
		b.wantIs("Do", err, errWork, engine.ErrLost)
	}))
	t.Run("joins ErrLost also when fn noticed nothing", specClean(engine.Options{}, func(b *bubble) {
		err := engine.Do(b.Context(), b.Mutex("stock:7"), func(context.Context, *engine.Hold) error {
			time.Sleep(2 * time.Second)
			return nil
		}, engine.WithLease(time.Second))
		b.wantIs("Do", err, engine.ErrLost)
	}))
	t.Run("joins ErrLost when the loss is found in unlocking", spec(engine.Options{}, func(b *bubble) {
		err := engine.Do(b.Context(), b.Mutex("stock:7"), func(context.Context, *engine.Hold) error {
			b.redis.Lose("stock:7")
			return nil
		})
		b.wantIs("Do", err, engine.ErrLost)
	}))
	t.Run("unlocks when fn panics", specClean(engine.Options{}, func(b *bubble) {
		func() {
			defer func() {
				if v := recover(); v != errWork {
					b.Errorf("recovered %v, want fn's panic", v)
				}
			}()
			engine.Do(b.Context(), b.Mutex("stock:7"), func(context.Context, *engine.Hold) error { panic(errWork) })
		}()
	}))
	t.Run("unlocks when its context has ended", specClean(engine.Options{}, func(b *bubble) {
		ctx, cancel := context.WithCancel(b.Context())
		err := engine.Do(ctx, b.Mutex("stock:7"), func(ctx context.Context, h *engine.Hold) error {
			cancel()
			<-ctx.Done()
			return ctx.Err()
		})
		b.wantIs("Do", err, context.Canceled)
		b.wantIsNot("Do", err, engine.ErrUncertain, engine.ErrLost)
	}))
	t.Run("lets fn unlock by itself", specClean(engine.Options{}, func(b *bubble) {
		err := engine.Do(b.Context(), b.Mutex("stock:7"), func(ctx context.Context, h *engine.Hold) error {
			return h.Unlock(ctx)
		})
		b.wantNil("Do", err)
	}))
	t.Run("ends fn's context when fn has returned", spec(engine.Options{}, func(b *bubble) {
		var inside context.Context
		engine.Do(b.Context(), b.Mutex("stock:7"), func(ctx context.Context, _ *engine.Hold) error {
			inside = ctx
			return nil
		})
		b.wantIs("ctx.Err", inside.Err(), context.Canceled)
	}))
	t.Run("re-enters with an Owner", specClean(engine.Options{}, func(b *bubble) {
		me := engine.WithOwner(engine.NewOwner())
		m := b.Mutex("stock:7")
		err := engine.Do(b.Context(), m, func(ctx context.Context, outer *engine.Hold) error {
			return engine.Do(ctx, m, func(ctx context.Context, inner *engine.Hold) error {
				if outer.Count() != 2 || inner.Count() != 2 {
					b.Errorf("counts = %d and %d, want 2", outer.Count(), inner.Count())
				}
				return nil
			}, me)
		}, me)
		b.wantNil("Do", err)
	}))
}

func TestSpecBounds(t *testing.T) {
	t.Parallel()
	t.Run("invariant: bounds-refuse-only-new-requests: one request over MaxRequests is ErrOverloaded, at once", spec(engine.Options{MaxRequests: 3}, func(b *bubble) {
		holds := []*engine.Hold{b.lock(b.Mutex("stock:7")), b.lock(b.Mutex("stock:8"))}
		b.redis.SetDown(true) // so that all requests wait
		for _, name := range []string{"stock:1", "stock:2", "stock:3"} {
			b.queue(b.Mutex(name))
		}
		m := b.Mutex("stock:4")
		since := time.Now()
		for what, err := range map[string]error{
			"Lock":         testkit.ResultOf(m.Lock(b.Context())),
			"TryLock":      testkit.ResultOf(m.TryLock(b.Context())),
			"LockAsync":    testkit.ResultOf(m.LockAsync(b.Context()).Wait(b.Context())),
			"TryLockAsync": testkit.ResultOf(m.TryLockAsync(b.Context()).Wait(b.Context())),
		} {
			b.wantIs(what, err, engine.ErrOverloaded, engine.ErrUnavailable)
		}
		if took := time.Since(since); took != 0 {
			b.Errorf("it took %v", took)
		}
		if stats := b.Stats(); stats.Waiting != 3 || stats.Refused != 4 {
			b.Errorf("Stats: waiting %d, refused %d; want 3 and 4", stats.Waiting, stats.Refused)
		}
		unlocked := holds[0].UnlockAsync()
		b.redis.SetDown(false)
		b.wantNil("Unlock", testkit.ResultOf(unlocked.Wait(b.Context())))
		b.unlock(holds[1])
	}))
	t.Run("invariant: bounds-refuse-only-new-requests: Unlock, Extend and re-asking work at the bound", specClean(engine.Options{MaxRequests: 2}, func(b *bubble) {
		fixed := b.lock(b.Mutex("stock:8"), engine.WithLease(time.Minute))
		h := b.lock(b.Mutex("stock:7"))
		first, second := b.queue(b.Mutex("stock:7")), b.queue(b.Mutex("stock:7"))
		b.wantNil("Extend", fixed.Extend(b.Context(), time.Hour))
		time.Sleep(5 * time.Minute)
		b.unlock(h)
		b.unlock(first.granted())
		b.unlock(second.granted())
		b.unlock(fixed)
	}))
	t.Run("invariant: bounds-refuse-only-new-requests: one waiter over MaxWaitersPerName is ErrOverloaded, other names are not", specClean(engine.Options{MaxWaitersPerName: 2}, func(b *bubble) {
		h := b.lock(b.Mutex("stock:7"))
		first, second := b.queue(b.Mutex("stock:7")), b.queue(b.Mutex("stock:7"))
		b.wantIs("Lock", testkit.ResultOf(b.Mutex("stock:7").Lock(b.Context())), engine.ErrOverloaded)
		b.wantIs("LockAsync", testkit.ResultOf(b.Mutex("stock:7").LockAsync(b.Context()).Wait(b.Context())), engine.ErrOverloaded)
		b.unlock(b.lock(b.Mutex("stock:8")))
		b.unlock(h)
		b.unlock(first.granted())
		third := b.queue(b.Mutex("stock:7"))
		b.unlock(second.granted())
		b.unlock(third.granted())
	}))
	t.Run("invariant: bounds-refuse-only-new-requests: who does not wait enters at MaxWaitersPerName", specClean(engine.Options{MaxWaitersPerName: 1}, func(b *bubble) {
		owner := engine.WithOwner(engine.NewOwner())
		h := b.lock(b.Mutex("stock:7"), owner)
		waiter := b.queue(b.Mutex("stock:7"))
		again := b.lock(b.Mutex("stock:7"), owner)
		tried, err := b.Mutex("stock:7").TryLock(b.Context(), owner)
		b.wantNil("TryLock", err)
		b.unlock(tried)
		b.unlock(again)
		adopted, err := b.Mutex("stock:7").Adopt(b.Context(), h.TenureID())
		b.wantNil("Adopt", err)
		b.unlock(adopted)
		b.unlock(waiter.granted())
	}))
	t.Run("what was answered or cancelled does not count any more", specClean(engine.Options{MaxRequests: 1}, func(b *bubble) {
		for range 10 {
			h := b.lock(b.Mutex("stock:7"))
			future := b.Mutex("stock:7").LockAsync(b.Context())
			b.wantIs("Lock", testkit.ResultOf(b.Mutex("stock:8").Lock(b.Context())), engine.ErrOverloaded)
			future.Cancel()
			waiter := b.queue(b.Mutex("stock:7"))
			waiter.cancel(nil)
			synctest.Wait()
			b.unlock(h)
		}
	}))
}

func TestSpecNameMapper(t *testing.T) {
	t.Parallel()
	prefix := engine.Options{NameMapper: func(name string) string { return "shop:" + name }}
	t.Run("makes the key, and users see the name", spec(prefix, func(b *bubble) {
		h := b.lock(b.Mutex("stock:7"))
		b.wantKeys("shop:stock:7")
		if h.Name() != "stock:7" {
			b.Errorf("Name = %q", h.Name())
		}
		plain := b.another(engine.Options{})
		waiter := b.queue(plain.Mutex("shop:stock:7"))
		b.lock(plain.Mutex("stock:7"))
		b.unlock(h)
		waiter.granted() // it heard of the unlock on the channel of the key
	}))
	t.Run("two names of one key are one lock", spec(engine.Options{NameMapper: func(string) string { return "the one" }}, func(b *bubble) {
		b.lock(b.Mutex("stock:7"))
		b.wantIs("TryLock", testkit.ResultOf(b.Mutex("stock:8").TryLock(b.Context())), engine.ErrHeld)
	}))
	t.Run("must make a key of 1 to 1,024 bytes", spec(engine.Options{NameMapper: func(name string) string { return name[1:] }}, func(b *bubble) {
		for _, name := range []string{"x", "x" + testkit.LongName(1025)} {
			b.wantIs("Lock", testkit.ResultOf(b.Mutex(name).Lock(b.Context())), engine.ErrInvalid)
			b.wantIs("LockAsync", testkit.ResultOf(b.Mutex(name).LockAsync(b.Context()).Wait(b.Context())), engine.ErrInvalid)
			b.wantIs("Inspect", testkit.ResultOf(b.Mutex(name).Inspect(b.Context())), engine.ErrInvalid)
		}
		b.lock(b.Mutex(testkit.LongName(1024)))
	}))
}
