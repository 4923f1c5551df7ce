package engine_test

import (
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
)

func TestSpecHandoff(t *testing.T) {
	t.Parallel()
	t.Run("invariant: handoff-only-while-fresh: a fresh lock goes to the next waiter without asking Redis", spec(engine.Options{}, func(b *bubble) {
		h := b.lock(b.Mutex("stock:7"))
		waiter := b.queue(b.Mutex("stock:7"))
		before := b.Stats().Batches
		b.unlock(h)
		next := waiter.wantGrantedNow()
		if next.TenureID() != h.TenureID() {
			b.Error("the tenure was not handed on")
		}
		if stats := b.Stats(); stats.Batches != before || stats.Handoffs != 1 {
			b.Errorf("Stats: %d pipelines, %d handoffs; want 0 and 1", stats.Batches-before, stats.Handoffs)
		}
	}))
	t.Run("invariant: handoff-only-while-fresh: a lock confirmed longer ago than HandoffTime is confirmed first", spec(engine.Options{}, func(b *bubble) {
		h := b.lock(b.Mutex("stock:7"))
		waiter := b.queue(b.Mutex("stock:7"))
		time.Sleep(11 * time.Millisecond)
		before := b.Stats().Batches
		b.unlock(h)
		waiter.wantGrantedNow()
		if stats := b.Stats(); stats.Batches == before {
			b.Error("Redis was not asked")
		}
	}))
	t.Run("negative HandoffTime turns it off", spec(engine.Options{HandoffTime: -1}, func(b *bubble) {
		h := b.lock(b.Mutex("stock:7"))
		for range 10 {
			waiter := b.queue(b.Mutex("stock:7"))
			b.unlock(h)
			next := waiter.wantGrantedNow()
			if next.TenureID() == h.TenureID() {
				b.Error("the tenure was handed on")
			}
			h = next
		}
		if handoffs := b.Stats().Handoffs; handoffs != 0 {
			b.Errorf("%d handoffs", handoffs)
		}
	}))
	t.Run("invariant: handoff-keeps-lease: neither from nor to a fixed lease", spec(engine.Options{}, func(b *bubble) {
		for _, opts := range [][2][]engine.LockOption{
			{{engine.WithLease(30 * time.Second)}, nil},
			{nil, {engine.WithLease(30 * time.Second)}},
			{{engine.WithLease(30 * time.Second)}, {engine.WithLease(30 * time.Second)}},
		} {
			h := b.lock(b.Mutex("stock:7"), opts[0]...)
			waiter := b.queue(b.Mutex("stock:7"), opts[1]...)
			b.unlock(h)
			next := waiter.wantGrantedNow()
			if next.TenureID() == h.TenureID() {
				b.Errorf("%v: the tenure was handed on", opts)
			}
			if state := b.state("stock:7"); state.Owner != next.TenureID() || state.TTL != 30*time.Second {
				b.Errorf("%v: in Redis: %+v", opts, state)
			}
			b.unlock(next)
			b.wantKeys()
		}
	}))
	t.Run("invariant: handoff-keeps-lease: to a shorter lease is a fresh owner with that lease", specClean(engine.Options{}, func(b *bubble) {
		h := b.lock(b.Mutex("stock:7"))
		waiter := b.queue(b.Mutex("stock:7"), engine.WithLease(5*time.Second))
		b.unlock(h)
		next := waiter.wantGrantedNow()
		b.wantTTL("stock:7", 5*time.Second)
		sleepUntil(next.Deadline())
		b.wantEnded(next, engine.ErrLost)
	}))
	t.Run("invariant: handoff-only-while-fresh: not while Redis is down", spec(engine.Options{}, func(b *bubble) {
		h := b.lock(b.Mutex("stock:7"))
		waiter := b.queue(b.Mutex("stock:7"))
		b.goDown()
		h.UnlockAsync()
		waiter.wantWaiting()
		b.redis.SetDown(false)
		waiter.granted()
	}))
	t.Run("invariant: others-get-a-turn: another process that waits gets its turn", spec(engine.Options{}, func(b *bubble) {
		h := b.lock(b.Mutex("stock:7"))
		theirs := b.queue(b.another(engine.Options{}).Mutex("stock:7"))
		since := time.Now()
		for theirs.waits() {
			mine := b.queue(b.Mutex("stock:7"))
			time.Sleep(time.Millisecond)
			b.unlock(h)
			if !theirs.waits() {
				b.unlock(theirs.hold)
			}
			h = mine.granted()
			if time.Since(since) > time.Second {
				b.Fatal("it waits for a second already")
			}
		}
	}))
}
