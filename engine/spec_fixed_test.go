package engine_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wheellock/wheellock/engine"
)

func causeOf(ctx context.Context) error { return context.Cause(ctx) }

func TestSpecFixedLease(t *testing.T) {
	t.Parallel()
	t.Run("is not renewed", spec(engine.Options{}, func(b *bubble) {
		b.lock(b.Mutex("stock:7"), engine.WithLease(time.Minute))
		b.wantTTL("stock:7", time.Minute)
		time.Sleep(59 * time.Second)
		b.wantTTL("stock:7", time.Second)
	}))
	t.Run("is each one's own where many are asked for at once", spec(engine.Options{}, func(b *bubble) {
		lease := func(i int) time.Duration { return time.Hour + time.Duration(i/200)*time.Duration(i)*time.Minute }
		for i := range 400 { // of the first half all leases are alike
			b.Mutex(fmt.Sprint("stock:", i)).LockAsync(b.Context(), engine.WithLease(lease(i)))
		}
		synctest.Wait()
		for i := range 400 {
			b.wantTTL(fmt.Sprint("stock:", i), lease(i))
		}
	}))
	t.Run("ends by itself, at its deadline and not before", spec(engine.Options{}, func(b *bubble) {
		for _, lease := range []time.Duration{10 * time.Millisecond, time.Second, time.Minute, time.Hour} {
			h := b.lock(b.Mutex("stock:7"), engine.WithLease(lease))
			ctx := h.Context(b.Context())
			if left, want := time.Until(h.Deadline()), lease-max(lease/100, 5*time.Millisecond); left != want {
				b.Errorf("lease %v: the deadline is %v away, want %v", lease, left, want)
			}
			sleepUntil(h.Deadline().Add(-1))
			b.wantHeld(h)
			b.wantNil("ctx.Err", ctx.Err())
			sleepUntil(h.Deadline())
			b.wantEnded(h, engine.ErrLost)
			b.wantIs("cause", causeOf(ctx), engine.ErrLost)
		}
	}))
	t.Run("is over for Err even where nothing else runs", spec(engine.Options{}, func(b *bubble) {
		h := b.lock(b.Mutex("stock:7"), engine.WithLease(time.Minute))
		time.Sleep(time.Until(h.Deadline())) // whoever is to be woken in this instant may run later
		b.wantIs("Err", h.Err(), engine.ErrLost)
	}))
	t.Run("is released when it ends, and the waiter behind gets in", spec(engine.Options{}, func(b *bubble) {
		h := b.lock(b.Mutex("stock:7"), engine.WithLease(time.Minute))
		waiter := b.queue(b.Mutex("stock:7"))
		sleepUntil(h.Deadline().Add(-1))
		waiter.wantWaiting()
		sleepUntil(h.Deadline())
		next := waiter.wantGrantedNow()
		if next.TenureID() == h.TenureID() {
			b.Error("the waiter got the lock under the owner that has ended")
		}
	}))
	t.Run("lets a waiter of another process in", spec(engine.Options{}, func(b *bubble) {
		h := b.lock(b.Mutex("stock:7"), engine.WithLease(time.Minute))
		waiter := b.queue(b.another(engine.Options{}).Mutex("stock:7"))
		sleepUntil(h.Deadline().Add(-1))
		waiter.wantWaiting()
		sleepUntil(h.Deadline())
		waiter.wantGrantedNow()
		b.wantEnded(h, engine.ErrLost)
	}))
	t.Run("leaves nothing to unlock when it has ended", spec(engine.Options{}, func(b *bubble) {
		h := b.lock(b.Mutex("stock:7"), engine.WithLease(time.Minute))
		sleepUntil(h.Deadline())
		next := b.lock(b.Mutex("stock:7"), engine.WithLease(time.Minute))
		b.wantIs("Unlock", h.Unlock(b.Context()), engine.ErrLost)
		b.wantHeld(next)
		b.wantKeys("stock:7")
	}))
	t.Run("can be unlocked before its end, and then does not end again", spec(engine.Options{}, func(b *bubble) {
		h := b.lock(b.Mutex("stock:7"), engine.WithLease(time.Minute))
		b.unlock(h)
		b.wantKeys()
		next := b.lock(b.Mutex("stock:7"))
		time.Sleep(2 * time.Minute)
		b.wantHeld(next)
		b.wantEnded(h, engine.ErrUnlocked)
	}))
	t.Run("is rounded up to whole milliseconds", spec(engine.Options{}, func(b *bubble) {
		b.lock(b.Mutex("stock:7"), engine.WithLease(10*time.Millisecond+500*time.Microsecond))
		b.wantTTL("stock:7", 11*time.Millisecond)
	}))
	t.Run("may be as long as 30 days", spec(engine.Options{}, func(b *bubble) {
		b.lock(b.Mutex("stock:7"), engine.WithLease(30*24*time.Hour))
		b.wantTTL("stock:7", 30*24*time.Hour)
	}))
}

func TestSpecExtend(t *testing.T) {
	t.Parallel()
	t.Run("makes a fixed lease last until lease from now", specClean(engine.Options{}, func(b *bubble) {
		h := b.lock(b.Mutex("stock:7"), engine.WithLease(10*time.Second))
		time.Sleep(4 * time.Second)
		b.wantNil("Extend", h.Extend(b.Context(), 20*time.Second))
		b.wantTTL("stock:7", 20*time.Second)
		if left := time.Until(h.Deadline()); left != 20*time.Second-200*time.Millisecond {
			b.Errorf("the deadline is %v away, want 20s less 1%%", left)
		}
		sleepUntil(h.Deadline().Add(-1))
		b.wantHeld(h)
		sleepUntil(h.Deadline())
		b.wantEnded(h, engine.ErrLost)
	}))
	t.Run("never makes it shorter", spec(engine.Options{}, func(b *bubble) {
		h := b.lock(b.Mutex("stock:7"), engine.WithLease(time.Minute))
		deadline := h.Deadline()
		b.wantNil("Extend", h.Extend(b.Context(), time.Second))
		if !h.Deadline().Equal(deadline) {
			b.Errorf("the deadline moved by %v", h.Deadline().Sub(deadline))
		}
		b.wantTTL("stock:7", time.Minute)
		sleepUntil(deadline.Add(-1))
		b.wantHeld(h)
	}))
	t.Run("may be repeated", spec(engine.Options{}, func(b *bubble) {
		h := b.lock(b.Mutex("stock:7"), engine.WithLease(10*time.Second))
		for range 20 {
			time.Sleep(9 * time.Second)
			b.wantNil("Extend", h.Extend(b.Context(), 10*time.Second))
		}
		b.wantHeld(h)
	}))
	t.Run("is ErrInvalid for a hold that the watchdog renews", spec(engine.Options{}, func(b *bubble) {
		h := b.lock(b.Mutex("stock:7"))
		b.wantIs("Extend", h.Extend(b.Context(), time.Hour), engine.ErrInvalid)
		b.wantHeld(h)
	}))
	t.Run("is ErrInvalid for a lease that can be none", spec(engine.Options{}, func(b *bubble) {
		h := b.lock(b.Mutex("stock:7"), engine.WithLease(time.Minute))
		for _, lease := range []time.Duration{-1, 0, 9 * time.Millisecond, 31 * 24 * time.Hour} {
			b.wantIs(lease.String(), h.Extend(b.Context(), lease), engine.ErrInvalid)
		}
		b.wantTTL("stock:7", time.Minute)
	}))
	t.Run("is ErrLost after the end, ErrUnlocked after Unlock", specClean(engine.Options{}, func(b *bubble) {
		h := b.lock(b.Mutex("stock:7"), engine.WithLease(time.Second))
		sleepUntil(h.Deadline())
		b.wantIs("Extend", h.Extend(b.Context(), time.Minute), engine.ErrLost)
		h = b.lock(b.Mutex("stock:7"), engine.WithLease(time.Second))
		b.unlock(h)
		b.wantIs("Extend", h.Extend(b.Context(), time.Minute), engine.ErrUnlocked)
	}))
	t.Run("is ErrLost when the key is gone, and the hold ends", specClean(engine.Options{}, func(b *bubble) {
		h := b.lock(b.Mutex("stock:7"), engine.WithLease(10*time.Second))
		b.redis.Lose("stock:7")
		b.wantIs("Extend", h.Extend(b.Context(), time.Minute), engine.ErrLost)
		b.wantEnded(h, engine.ErrLost)
	}))
	t.Run("waits no longer than its context while Redis is down", spec(engine.Options{AnswerTimeout: -1}, func(b *bubble) {
		h := b.lock(b.Mutex("stock:7"), engine.WithLease(10*time.Second))
		b.goDown()
		ctx, cancel := context.WithTimeout(b.Context(), time.Second)
		defer cancel()
		b.wantIs("Extend", h.Extend(ctx, time.Minute), engine.ErrUncertain, context.DeadlineExceeded)
		b.wantHeld(h)
		b.wantIs("Extend until the end", h.Extend(b.Context(), time.Minute), engine.ErrLost)
		if now := time.Now(); !now.Equal(h.Deadline()) {
			b.Errorf("it came %v after the deadline", now.Sub(h.Deadline()))
		}
	}))
}
