package engine_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/testkit"
)

func TestSpecLoss(t *testing.T) {
	t.Parallel()
	t.Run("a holder whose key is gone is told at the next renewal", spec(engine.Options{}, func(b *bubble) {
		h := b.lock(b.Mutex("stock:7"))
		ctx := h.Context(b.Context())
		time.Sleep(3 * time.Second)
		b.redis.Lose("stock:7")
		time.Sleep(7*time.Second - time.Millisecond)
		b.wantHeld(h) // as far as can be known
		time.Sleep(2 * time.Millisecond)
		b.wantEnded(h, engine.ErrLost)
		b.wantIs("cause", causeOf(ctx), engine.ErrLost)
		b.wantIs("ctx.Err", ctx.Err(), context.Canceled)
		b.wantIs("Unlock", h.Unlock(b.Context()), engine.ErrLost)
		b.wantIs("UnlockAsync", testkit.ResultOf(h.UnlockAsync().Wait(b.Context())), engine.ErrLost)
		if stats := b.Stats(); stats.Lost != 1 || stats.Held != 0 {
			b.Errorf("Stats: lost %d, held %d; want 1 and 0", stats.Lost, stats.Held)
		}
	}))
	t.Run("with WatchLoss it is told at once", spec(engine.Options{WatchLoss: true}, func(b *bubble) {
		h := b.lock(b.Mutex("stock:7"))
		time.Sleep(3 * time.Second)
		b.redis.Lose("stock:7")
		b.wantEnded(h, engine.ErrLost)
	}))
	t.Run("invariant: loss-is-final: the waiter behind gets in, under another owner", spec(engine.Options{}, func(b *bubble) {
		h := b.lock(b.Mutex("stock:7"))
		waiter := b.queue(b.Mutex("stock:7"))
		b.redis.Lose("stock:7")
		next := waiter.granted()
		b.wantEnded(h, engine.ErrLost)
		if next.TenureID() == h.TenureID() {
			b.Error("the lost tenure was revived")
		}
	}))
	t.Run("invariant: loss-is-final: the old holder's Unlock does not free the new one's lock", spec(engine.Options{}, func(b *bubble) {
		h := b.lock(b.Mutex("stock:7"))
		b.redis.Lose("stock:7")
		theirs := b.lock(b.another(engine.Options{}).Mutex("stock:7"))
		b.wantIs("Unlock", h.Unlock(b.Context()), engine.ErrLost)
		time.Sleep(5 * time.Minute)
		b.wantHeld(theirs)
		b.wantKeys("stock:7")
	}))
	t.Run("a lost Unlock is not handed on", spec(engine.Options{}, func(b *bubble) {
		h := b.lock(b.Mutex("stock:7"))
		waiter := b.queue(b.Mutex("stock:7"))
		time.Sleep(9 * time.Second) // too long ago to hand on without asking
		b.redis.Lose("stock:7")
		theirs := b.lock(b.another(engine.Options{}).Mutex("stock:7"))
		h.Unlock(b.Context())
		waiter.wantWaiting()
		b.unlock(theirs)
		waiter.granted()
	}))
	t.Run("ForceUnlock ends a hold of this engine before the key is freed", specClean(engine.Options{}, func(b *bubble) {
		h := b.lock(b.Mutex("stock:7"))
		freed, err := b.Mutex("stock:7").ForceUnlock(b.Context())
		if !freed || err != nil {
			b.Errorf("ForceUnlock = %t, %v", freed, err)
		}
		b.wantEnded(h, engine.ErrLost)
	}))
	t.Run("ForceUnlock frees the lock of another process, and wakes who waits", spec(engine.Options{}, func(b *bubble) {
		other := b.another(engine.Options{})
		theirs := b.lock(other.Mutex("stock:7"))
		waiter := b.queue(b.Mutex("stock:7"))
		since := time.Now()
		freed, err := b.Mutex("stock:7").ForceUnlock(b.Context())
		if !freed || err != nil {
			b.Errorf("ForceUnlock = %t, %v", freed, err)
		}
		waiter.granted()
		if took := time.Since(since); took > 2*time.Second {
			b.Errorf("the waiter got it after %v", took)
		}
		time.Sleep(10 * time.Second)
		b.wantEnded(theirs, engine.ErrLost)
	}))
	t.Run("ForceUnlockOwners frees who is meant, and nobody who came later", spec(engine.Options{}, func(b *bubble) {
		other := b.another(engine.Options{}).RWMutex("stock:7")
		first, m := b.lock(other.Writer()), b.RWMutex("stock:7")
		seen, err := m.Writer().Inspect(b.Context())
		testkit.Must(b, err)
		b.unlock(first)
		readers := []*engine.Hold{b.lock(other.Reader()), b.lock(m.Reader())}
		for _, l := range []*engine.Mutex{m.Writer(), m.Reader()} {
			if freed, err := l.ForceUnlockOwners(b.Context(), seen.Owner); freed || err != nil {
				b.Errorf("ForceUnlockOwners of one who has gone = %t, %v", freed, err)
			}
		}
		b.wantHeld(readers[0])
		freed, err := m.Reader().ForceUnlockOwners(b.Context(), seen.Owner, readers[0].TenureID())
		if !freed || err != nil {
			b.Errorf("ForceUnlockOwners = %t, %v", freed, err)
		}
		time.Sleep(10 * time.Second)
		b.wantEnded(readers[0], engine.ErrLost)
		b.wantHeld(readers[1])
		_, err = m.Reader().ForceUnlockOwners(b.Context())
		b.wantIs("ForceUnlockOwners of nobody", err, engine.ErrInvalid)
	}))
	t.Run("ForceUnlock of a free lock says so", spec(engine.Options{}, func(b *bubble) {
		if freed, err := b.Mutex("stock:7").ForceUnlock(b.Context()); freed || err != nil {
			b.Errorf("ForceUnlock = %t, %v; want false", freed, err)
		}
	}))
}

func TestSpecDown(t *testing.T) {
	t.Parallel()
	t.Run("a hold ends at its deadline, and not before", spec(engine.Options{}, func(b *bubble) {
		h := b.lock(b.Mutex("stock:7"))
		ctx := h.Context(b.Context())
		deadline := h.Deadline()
		b.goDown()
		sleepUntil(deadline.Add(-1))
		b.wantHeld(h)
		sleepUntil(deadline)
		b.wantEnded(h, engine.ErrLost)
		b.wantIs("cause", causeOf(ctx), engine.ErrLost)
	}))
	t.Run("a hold survives a break that is shorter than its lease", specClean(engine.Options{}, func(b *bubble) {
		h := b.lock(b.Mutex("stock:7"))
		for range 20 {
			b.goDown()
			time.Sleep(15 * time.Second)
			b.redis.SetDown(false)
			time.Sleep(5 * time.Second)
			b.wantHeld(h)
		}
		b.unlock(h)
	}))
	t.Run("a hold lost in a break is not revived after it", specClean(engine.Options{}, func(b *bubble) {
		h := b.lock(b.Mutex("stock:7"))
		b.goDown()
		sleepUntil(h.Deadline())
		b.redis.SetDown(false) // while the key is still there
		time.Sleep(time.Minute)
		b.wantEnded(h, engine.ErrLost)
	}))
	t.Run("Lock waits, and succeeds after recovery", spec(engine.Options{}, func(b *bubble) {
		b.goDown()
		var queue []*waiting
		for _, name := range []string{"stock:7", "stock:8", "stock:9"} {
			queue = append(queue, b.queue(b.Mutex(name)))
		}
		time.Sleep(10 * time.Minute)
		for _, w := range queue {
			w.wantWaiting()
		}
		b.redis.SetDown(false)
		up := time.Now()
		for _, w := range queue {
			b.wantHeld(w.granted())
		}
		if took := time.Since(up); took > time.Second {
			b.Errorf("recovery took %v", took)
		}
		if !b.Stats().Up {
			b.Error("Stats().Up is false after recovery")
		}
	}))
	t.Run("who waited for a held lock before goes on waiting", spec(engine.Options{}, func(b *bubble) {
		other := b.another(engine.Options{})
		theirs := b.lock(other.Mutex("stock:7"))
		waiter := b.queue(b.Mutex("stock:7"))
		b.goDown()
		time.Sleep(10 * time.Second)
		waiter.wantWaiting()
		b.redis.SetDown(false)
		time.Sleep(5 * time.Second)
		waiter.wantWaiting()
		since := time.Now()
		b.unlock(theirs)
		b.wantHeld(waiter.granted())
		if took := time.Since(since); took > 100*time.Millisecond {
			b.Errorf("it heard of the unlock after %v", took)
		}
	}))
	t.Run("TryLock fails with ErrNotSent at once", spec(engine.Options{}, func(b *bubble) {
		h := b.lock(b.Mutex("stock:8"))
		b.goDown()
		since := time.Now()
		for _, name := range []string{"stock:7", "stock:7", "a name to find out"} {
			_, err := b.Mutex(name).TryLock(b.Context())
			b.wantIs("TryLock", err, engine.ErrNotSent, engine.ErrUnavailable)
			b.wantIsNot("TryLock", err, engine.ErrHeld)
		}
		_, err := b.Mutex("stock:8").TryLock(b.Context())
		b.wantIs("TryLock of what is held here", err, engine.ErrHeld)
		if took := time.Since(since); took != 0 {
			b.Errorf("it took %v", took)
		}
		b.wantHeld(h)
	}))
	t.Run("Lock ends with its context", specClean(engine.Options{}, func(b *bubble) {
		b.goDown()
		ctx, cancel := context.WithTimeout(b.Context(), 3*time.Second)
		defer cancel()
		since := time.Now()
		_, err := b.Mutex("stock:7").Lock(ctx)
		b.wantIs("Lock", err, context.DeadlineExceeded)
		if took := time.Since(since); took != 3*time.Second {
			b.Errorf("it took %v", took)
		}
		b.redis.SetDown(false)
		time.Sleep(time.Minute)
	}))
	t.Run("Unlock does not block past Deadline", spec(engine.Options{}, func(b *bubble) {
		h := b.lock(b.Mutex("stock:7"))
		deadline := h.Deadline()
		b.goDown()
		err := h.Unlock(b.Context())
		b.wantIs("Unlock", err, engine.ErrUncertain, engine.ErrUnavailable)
		if now := time.Now(); now.After(deadline) {
			b.Errorf("it returned %v after the deadline", now.Sub(deadline))
		}
		b.wantEnded(h, engine.ErrUnlocked)
	}))
	t.Run("Unlock waits no longer than its context, and the release is sent all the same", specClean(engine.Options{}, func(b *bubble) {
		h := b.lock(b.Mutex("stock:7"))
		b.goDown()
		ctx, cancel := context.WithTimeout(b.Context(), time.Second)
		defer cancel()
		b.wantIs("Unlock", h.Unlock(ctx), engine.ErrUncertain, context.DeadlineExceeded)
		b.wantKeys("stock:7")
		b.redis.SetDown(false)
		time.Sleep(time.Second)
	}))
	t.Run("Unlock succeeds when Redis comes back in time", specClean(engine.Options{}, func(b *bubble) {
		h := b.lock(b.Mutex("stock:7"))
		b.goDown()
		unlocked := h.UnlockAsync()
		time.Sleep(10 * time.Second)
		b.redis.SetDown(false)
		b.wantNil("Unlock", testkit.ResultOf(unlocked.Wait(b.Context())))
	}))
	t.Run("leaves no key that nobody holds", spec(engine.Options{}, func(b *bubble) {
		for range 50 {
			for range 10 {
				b.Mutex("stock:7").LockAsync(b.Context(), engine.WithWait(time.Second)).Then(func(h *engine.Hold, err error) {
					if err == nil {
						h.Unlock(b.Context())
					}
				})
			}
			b.redis.SetDown(true)
			time.Sleep(100 * time.Millisecond)
			b.redis.SetDown(false)
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(10 * time.Second) // an uncertain acquire is cleaned up when it cannot arrive any more
		synctest.Wait()
		b.wantKeys()
		if stats := b.Stats(); stats.Held != 0 || stats.Waiting != 0 {
			b.Errorf("Stats: held %d, waiting %d", stats.Held, stats.Waiting)
		}
	}))
}
