package engine_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/internal/virtual"
)

// What WithFailFast means to each kind alone is in the table of bounds_test.go.
// invariant: answered-once
func TestSpecFailFast(t *testing.T) {
	fast := engine.WithFailFast()
	// failed judges a call that was to fail just now, and that Up says why.
	failed := func(b *bubble, w *waiting, down time.Time) {
		b.Helper()
		if w.waits() {
			w.cancel(nil)
			b.Fatal("it still waits")
		}
		b.wantIs("Lock", w.err, engine.ErrUnavailable)
		if took := w.at.Sub(down); took > 20*time.Millisecond {
			b.Errorf("it took %v", took)
		}
	}
	t.Run("callers of one process, behind one that holds the lock; others wait on, and a re-entry needs no answer", specClean(engine.Options{}, func(b *bubble) {
		m, me := b.Mutex("stock:7"), engine.WithOwner(engine.NewOwner())
		held := b.lock(m, me)
		first, second := b.queue(m, fast), b.queue(m)
		down := time.Now()
		b.goDown()
		failed(b, first, down)
		failed(b, b.queue(m, fast), time.Now())
		b.unlock(b.lock(m, me, fast))
		second.wantWaiting()
		b.redis.SetDown(false)
		b.unlock(held)
		b.unlock(second.granted())
	}))
	t.Run("a MultiLock, when the server goes down of a member for which it does not wait", specClean(engine.Options{}, func(b *bubble) {
		other, redis := virtual.New(b.T, engine.Options{})
		all, err := engine.Multi(b.Mutex("stock:7"), other.Mutex("stock:8"))
		b.wantNil("Multi", err)
		others := b.lock(b.another(engine.Options{}).Mutex("stock:7"))
		w := b.queue(all, fast)
		time.Sleep(5 * time.Second)
		down := time.Now()
		(&bubble{b.T, other, redis}).goDown()
		failed(b, w, down)
		failed(b, b.queue(all, fast), time.Now())
		b.unlock(others)
		time.Sleep(time.Minute)
	}))
	t.Run("a QuorumLock behind another call of its process, when a majority cannot be reached, and not before", specQuorum(engine.Options{}, func(q *majority) {
		h := q.bubble.lock(q.lock)
		w := q.queue(q.lock, fast)
		(&bubble{q.T, q.engines[1], q.servers[1]}).goDown()
		time.Sleep(time.Second)
		w.wantWaiting()
		down := time.Now()
		(&bubble{q.T, q.engines[2], q.servers[2]}).goDown()
		failed(q.bubble, w, down)
		failed(q.bubble, q.queue(q.lock, fast), time.Now())
		q.servers[1].SetDown(false)
		time.Sleep(time.Second)
		w = q.queue(q.lock, fast)
		h.Unlock(q.Context())
		q.unlock(w.granted())
	}))
	t.Run("Up", spec(engine.Options{}, func(b *bubble) {
		if !b.Up() {
			b.Error("not up when it opens")
		}
		b.goDown()
		b.redis.SetDown(false)
		time.Sleep(time.Second)
		if !b.Up() {
			b.Error("not up after the outage")
		}
		if b.Close(); b.Up() {
			b.Error("up after Close")
		}
	}))
}

func TestSpecQueue(t *testing.T) {
	t.Run("a number that means nothing is invalid, whatever the call", specClean(engine.Options{MaxWaitersPerName: 8}, func(b *bubble) {
		for _, n := range []int{-1, 0, 9} {
			for what, err := range map[string]error{
				"Lock": testkit.ResultOf(b.Mutex("stock:7").Lock(b.Context(), engine.WithQueue(n))), "TryLock": testkit.ResultOf(b.Mutex("stock:7").TryLock(b.Context(), engine.WithQueue(n))),
				"Acquire": b.Semaphore("seats").Acquire(b.Context(), 1, engine.WithQueue(n)),
			} {
				b.wantIs(fmt.Sprint(what, n), err, engine.ErrInvalid)
			}
		}
	}))
	t.Run("it counts all that wait, of this process alone, and not the holder", specClean(engine.Options{}, func(b *bubble) {
		m, queue := b.Mutex("stock:7"), engine.WithQueue(2)
		h := b.lock(m, queue)
		theirs := b.another(engine.Options{}).Mutex("stock:7")
		others := b.queue(theirs)
		first, second := b.queue(m), b.queue(m, queue)
		b.wantIs("Lock", testkit.ResultOf(m.Lock(b.Context(), queue)), engine.ErrOverloaded, engine.ErrUnavailable)
		b.wantIs("TryLock", testkit.ResultOf(m.TryLock(b.Context(), queue)), engine.ErrHeld)
		third := b.queue(m)
		others.cancel(nil)
		b.unlock(h)
		for _, w := range []*waiting{first, second, third} {
			b.unlock(w.granted())
		}
	}))
}
