package engine_test

import (
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
)

func TestSpecReentry(t *testing.T) {
	t.Parallel()
	count := func(b *bubble, h *engine.Hold, want int) {
		b.Helper()
		if got := h.Count(); got != want {
			b.Errorf("Count = %d, want %d", got, want)
		}
	}
	t.Run("lets the Owner in again, without asking Redis", spec(engine.Options{}, func(b *bubble) {
		me := engine.WithOwner(engine.NewOwner())
		first := b.lock(b.Mutex("stock:7"), me)
		count(b, first, 1)
		before := b.Stats().Batches
		second := b.lock(b.Mutex("stock:7"), me)
		third, err := b.Mutex("stock:7").TryLock(b.Context(), me)
		if err != nil {
			b.Fatalf("TryLock: %v", err)
		}
		if sent := b.Stats().Batches - before; sent != 0 {
			b.Errorf("%d pipelines were sent", sent)
		}
		for _, h := range []*engine.Hold{first, second, third} {
			count(b, h, 3)
			if h.TenureID() != first.TenureID() {
				b.Error("a re-entry has a tenure of its own")
			}
		}
		if state := b.state("stock:7"); state.Count != 1 || !state.Ours {
			b.Errorf("in Redis: %+v, want one field with count 1", state)
		}
	}))
	t.Run("keeps other owners out until all is unlocked, in any order", specClean(engine.Options{}, func(b *bubble) {
		me := engine.WithOwner(engine.NewOwner())
		first, second, third := b.lock(b.Mutex("stock:7"), me), b.lock(b.Mutex("stock:7"), me), b.lock(b.Mutex("stock:7"), me)
		waiters := []*waiting{
			b.queue(b.Mutex("stock:7")),
			b.queue(b.Mutex("stock:7"), engine.WithOwner(engine.NewOwner())),
			b.queue(b.another(engine.Options{}).Mutex("stock:7")),
		}
		for left, h := range []*engine.Hold{second, first, third} {
			for _, w := range waiters {
				w.wantWaiting()
			}
			b.wantHeld(h)
			count(b, h, 3-left)
			b.unlock(h)
		}
		for _, w := range waiters {
			b.unlock(w.granted())
		}
	}))
	t.Run("each hold is unlocked once", spec(engine.Options{}, func(b *bubble) {
		me := engine.WithOwner(engine.NewOwner())
		first, second := b.lock(b.Mutex("stock:7"), me), b.lock(b.Mutex("stock:7"), me)
		b.unlock(second)
		b.wantIs("Unlock again", second.Unlock(b.Context()), engine.ErrUnlocked)
		b.wantHeld(first)
		b.wantEnded(second, engine.ErrUnlocked)
		count(b, first, 1)
		b.wantKeys("stock:7")
	}))
	t.Run("is for those with WithOwner only", spec(engine.Options{}, func(b *bubble) {
		b.lock(b.Mutex("stock:7"))
		b.queue(b.Mutex("stock:7")).wantWaiting()
	}))
	t.Run("invariant: reentry-needs-living-hold: needs a hold that is alive", spec(engine.Options{}, func(b *bubble) {
		me := engine.WithOwner(engine.NewOwner())
		h := b.lock(b.Mutex("stock:7"), me)
		other := b.queue(b.Mutex("stock:7"))
		b.unlock(h)
		b.queue(b.Mutex("stock:7"), me).wantWaiting()
		b.unlock(other.granted())
	}))
	t.Run("invariant: reentry-needs-living-hold: a grant to an Owner lets in all that it has queued", spec(engine.Options{}, func(b *bubble) {
		theirs := b.lock(b.another(engine.Options{}).Mutex("stock:7"))
		me := engine.WithOwner(engine.NewOwner())
		first := b.queue(b.Mutex("stock:7"), me)
		other := b.queue(b.Mutex("stock:7"))
		mine := []*waiting{first, b.queue(b.Mutex("stock:7"), me), b.queue(b.Mutex("stock:7"), me, engine.WithLease(10*time.Second))}
		b.unlock(theirs)
		first.granted()
		for _, w := range mine {
			count(b, w.wantGrantedNow(), 3)
		}
		for _, w := range mine {
			other.wantWaiting()
			b.unlock(w.hold)
		}
		b.unlock(other.wantGrantedNow())
	}))
	t.Run("invariant: reentry-needs-living-hold: a handoff to an Owner lets in all that it has queued", spec(engine.Options{}, func(b *bubble) {
		me := engine.WithOwner(engine.NewOwner())
		h := b.lock(b.Mutex("stock:7"))
		mine := []*waiting{b.queue(b.Mutex("stock:7"), me), b.queue(b.Mutex("stock:7"), me)}
		b.unlock(h)
		for _, w := range mine {
			count(b, w.wantGrantedNow(), 2)
		}
	}))
	t.Run("all holds of the Owner end when the lock is lost", spec(engine.Options{}, func(b *bubble) {
		me := engine.WithOwner(engine.NewOwner())
		first, second := b.lock(b.Mutex("stock:7"), me), b.lock(b.Mutex("stock:7"), me, engine.WithLease(time.Hour))
		b.redis.Lose("stock:7")
		time.Sleep(10 * time.Second)
		b.wantEnded(first, engine.ErrLost)
		b.wantEnded(second, engine.ErrLost)
	}))
}

func TestSpecNesting(t *testing.T) {
	t.Parallel()
	t.Run("invariant: hold-within-tenure: fixed in watched ends by itself, and the watched one goes on", specClean(engine.Options{}, func(b *bubble) {
		me := engine.WithOwner(engine.NewOwner())
		outer := b.lock(b.Mutex("stock:7"), me)
		inner := b.lock(b.Mutex("stock:7"), me, engine.WithLease(7*time.Second))
		sleepUntil(inner.Deadline().Add(-1))
		b.wantHeld(inner)
		sleepUntil(inner.Deadline())
		b.wantEnded(inner, engine.ErrLost)
		time.Sleep(5 * time.Minute)
		b.wantHeld(outer)
		b.unlock(outer)
	}))
	t.Run("invariant: hold-within-tenure: fixed in watched may be longer than the watchdog's lease", specClean(engine.Options{}, func(b *bubble) {
		me := engine.WithOwner(engine.NewOwner())
		outer := b.lock(b.Mutex("stock:7"), me)
		inner := b.lock(b.Mutex("stock:7"), me, engine.WithLease(10*time.Minute))
		b.wantTTL("stock:7", 10*time.Minute)
		b.unlock(outer)
		sleepUntil(inner.Deadline().Add(-1))
		b.wantHeld(inner)
		sleepUntil(inner.Deadline())
		b.wantEnded(inner, engine.ErrLost)
	}))
	t.Run("invariant: hold-within-tenure: watched in fixed is renewed, and the fixed one ends by itself", specClean(engine.Options{}, func(b *bubble) {
		me := engine.WithOwner(engine.NewOwner())
		outer := b.lock(b.Mutex("stock:7"), me, engine.WithLease(7*time.Second))
		inner := b.lock(b.Mutex("stock:7"), me)
		sleepUntil(outer.Deadline().Add(-1))
		b.wantHeld(outer)
		sleepUntil(outer.Deadline())
		b.wantEnded(outer, engine.ErrLost)
		time.Sleep(5 * time.Minute)
		b.wantHeld(inner)
		b.unlock(inner)
	}))
	t.Run("invariant: hold-within-tenure: when the watched one is unlocked, the fixed one ends at its own deadline", spec(engine.Options{}, func(b *bubble) {
		me := engine.WithOwner(engine.NewOwner())
		outer := b.lock(b.Mutex("stock:7"), me, engine.WithLease(45*time.Second))
		deadline := outer.Deadline()
		inner := b.lock(b.Mutex("stock:7"), me)
		time.Sleep(40 * time.Second)
		b.unlock(inner)
		waiter := b.queue(b.Mutex("stock:7"))
		sleepUntil(deadline.Add(-1))
		b.wantHeld(outer)
		waiter.wantWaiting()
		sleepUntil(deadline)
		b.wantEnded(outer, engine.ErrLost)
		b.unlock(waiter.wantGrantedNow())
	}))
	t.Run("invariant: hold-within-tenure: fixed in fixed, each with its own end", specClean(engine.Options{}, func(b *bubble) {
		me := engine.WithOwner(engine.NewOwner())
		short := b.lock(b.Mutex("stock:7"), me, engine.WithLease(10*time.Second))
		long := b.lock(b.Mutex("stock:7"), me, engine.WithLease(time.Minute))
		middle := b.lock(b.Mutex("stock:7"), me, engine.WithLease(20*time.Second))
		b.wantTTL("stock:7", time.Minute)
		for _, h := range []*engine.Hold{short, middle, long} {
			sleepUntil(h.Deadline().Add(-1))
			b.wantHeld(h)
			sleepUntil(h.Deadline())
			b.wantEnded(h, engine.ErrLost)
		}
	}))
	t.Run("invariant: handoff-keeps-lease: a lease that a re-entry has stretched is not handed on", spec(engine.Options{}, func(b *bubble) {
		me := engine.WithOwner(engine.NewOwner())
		outer := b.lock(b.Mutex("stock:7"), me)
		inner := b.lock(b.Mutex("stock:7"), me, engine.WithLease(time.Hour))
		waiter := b.queue(b.Mutex("stock:7"))
		b.unlock(inner)
		b.unlock(outer)
		waiter.wantGrantedNow()
		b.wantTTL("stock:7", 30*time.Second)
	}))
	t.Run("invariant: hold-within-tenure: what needs more of the lease is not granted while Redis is down", spec(engine.Options{}, func(b *bubble) {
		me := engine.WithOwner(engine.NewOwner())
		b.lock(b.Mutex("stock:7"), me)
		b.goDown()
		_, err := b.Mutex("stock:7").TryLock(b.Context(), me, engine.WithLease(time.Hour))
		b.wantIs("TryLock", err, engine.ErrNotSent)
		waiter := b.queue(b.Mutex("stock:7"), me, engine.WithLease(time.Hour))
		time.Sleep(2 * time.Second)
		waiter.wantWaiting()
		b.redis.SetDown(false)
		h := waiter.granted()
		if left := time.Until(h.Deadline()); left < 59*time.Minute {
			b.Errorf("the deadline is %v away, want nearly an hour", left)
		}
	}))
}
