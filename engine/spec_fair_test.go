package engine_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/wheellock/wheellock/engine"
)

// invariant: fair-queue-order
func TestSpecFairMutex(t *testing.T) {
	t.Parallel()
	t.Run("is a lock, and leaves nothing", specClean(engine.Options{}, func(b *bubble) {
		h := b.lock(b.FairMutex("stock:7"))
		b.wantKeys("stock:7")
		b.wantHeld(h)
		b.unlock(h)
	}))
	t.Run("is renewed while others wait, for as long as it takes", specClean(engine.Options{}, func(b *bubble) {
		h := b.lock(b.FairMutex("stock:7"))
		w := b.queue(b.another(engine.Options{}).FairMutex("stock:7"))
		time.Sleep(10 * time.Minute) // twice as long as an engine that has died keeps its place
		b.wantHeld(h)
		w.wantWaiting()
		b.unlock(h)
		b.unlock(w.wantGrantedNow())
	}))
	t.Run("serves in the order of arrival, whoever asks", specClean(engine.Options{}, func(b *bubble) {
		engines := []*engine.Engine{b.Engine, b.another(engine.Options{}), b.another(engine.Options{})}
		h := b.lock(b.FairMutex("stock:7"))
		var line []*waiting
		for i := range 12 {
			line = append(line, b.queue(engines[i*7%3].FairMutex("stock:7")))
		}
		for i, w := range line {
			for _, behind := range line[i:] {
				behind.wantWaiting()
			}
			b.unlock(h)
			h = w.wantGrantedNow()
		}
		b.unlock(h)
	}))
	t.Run("is not handed on past another process that came first", spec(engine.Options{}, func(b *bubble) {
		h := b.lock(b.FairMutex("stock:7"))
		first := b.queue(b.another(engine.Options{}).FairMutex("stock:7"))
		second := b.queue(b.FairMutex("stock:7"))
		b.unlock(h)
		second.wantWaiting()
		b.unlock(first.wantGrantedNow())
		b.unlock(second.wantGrantedNow())
	}))
	t.Run("a place of Redisson's whose deadline was lost, as by an eviction, ends after five minutes", specClean(engine.Options{}, func(b *bubble) {
		b.redis.Do("RPUSH", "redisson_lock_queue:{stock:7}", "7c0a2c6e-5a0f-4a3e-9a68-3f0d3c1a9b11:42")
		began := time.Now()
		w := b.queue(b.FairMutex("stock:7"))
		b.unlock(w.granted())
		if waited := w.at.Sub(began); waited < 5*time.Minute || waited > 5*time.Minute+3*time.Second {
			b.Errorf("it waited for %v, want five minutes", waited)
		}
	}))
	t.Run("refuses TryLock while anybody waits, and TryLock does not join", spec(engine.Options{}, func(b *bubble) {
		other := b.another(engine.Options{})
		h := b.lock(b.FairMutex("stock:7"))
		_, err := other.FairMutex("stock:7").TryLock(b.Context())
		b.wantIs("TryLock of a taken lock", err, engine.ErrHeld)
		b.wantKeys("stock:7")
		b.queue(b.FairMutex("stock:7"))
		b.wantKeys("redisson_lock_queue:{stock:7}", "redisson_lock_timeout:{stock:7}", "stock:7", "{stock:7}:wheellock:alive")
		b.redis.Lose("stock:7") // free, but somebody waits
		_, err = other.FairMutex("stock:7").TryLock(b.Context())
		b.wantIs("TryLock while somebody waits", err, engine.ErrHeld)
		time.Sleep(11 * time.Second) // to the next renewal
		b.wantEnded(h, engine.ErrLost)
	}))
	t.Run("grants a TryLock of a free lock that nobody waits for", specClean(engine.Options{}, func(b *bubble) {
		h, err := b.FairMutex("stock:7").TryLock(b.Context())
		b.wantNil("TryLock", err)
		b.unlock(h)
	}))
	t.Run("is re-entered by its Owner, past the queue", specClean(engine.Options{}, func(b *bubble) {
		me := engine.NewOwner()
		first := b.lock(b.FairMutex("stock:7"), engine.WithOwner(me))
		w := b.queue(b.FairMutex("stock:7"))
		second := b.lock(b.FairMutex("stock:7"), engine.WithOwner(me))
		b.unlock(first)
		w.wantWaiting()
		b.unlock(second)
		b.unlock(w.wantGrantedNow())
	}))
	t.Run("grants an Owner all its requests in the queue at once", specClean(engine.Options{}, func(b *bubble) {
		me := engine.NewOwner()
		h := b.lock(b.FairMutex("stock:7"))
		first := b.queue(b.FairMutex("stock:7"), engine.WithOwner(me))
		other := b.queue(b.FairMutex("stock:7"))
		again := b.queue(b.FairMutex("stock:7"), engine.WithOwner(me))
		b.unlock(h)
		b.unlock(first.wantGrantedNow())
		other.wantWaiting()
		b.unlock(again.wantGrantedNow())
		b.unlock(other.wantGrantedNow())
	}))
	t.Run("gives up after WithWait, and leaves the queue", spec(engine.Options{}, func(b *bubble) {
		h := b.lock(b.FairMutex("stock:7"))
		since := time.Now()
		_, err := b.another(engine.Options{}).FairMutex("stock:7").Lock(b.Context(), engine.WithWait(3*time.Second))
		b.wantIs("Lock", err, engine.ErrWaitTimeout, engine.ErrHeld)
		if took := time.Since(since); took < 3*time.Second || took > 3*time.Second+25*time.Millisecond {
			t.Errorf("gave up after %v, want 3s", took)
		}
		b.wantKeys("stock:7")
		b.unlock(h)
	}))
	t.Run("passes on a fixed lease that has run out", specClean(engine.Options{}, func(b *bubble) {
		h := b.lock(b.FairMutex("stock:7"), engine.WithLease(10*time.Second))
		w := b.queue(b.another(engine.Options{}).FairMutex("stock:7"))
		time.Sleep(11 * time.Second)
		b.wantEnded(h, engine.ErrLost)
		b.unlock(w.wantGrantedNow())
	}))
	t.Run("gives each waiter the lease it asked for", spec(engine.Options{}, func(b *bubble) {
		h := b.lock(b.FairMutex("stock:7"))
		w := b.queue(b.FairMutex("stock:7"), engine.WithLease(7*time.Second))
		b.unlock(h)
		next := w.wantGrantedNow()
		b.wantTTL("stock:7", 7*time.Second)
		b.unlock(next)
	}))
	t.Run("is freed by force for whoever is next", specClean(engine.Options{}, func(b *bubble) {
		other := b.another(engine.Options{})
		h := b.lock(b.FairMutex("stock:7"))
		w := b.queue(other.FairMutex("stock:7"))
		freed, err := other.FairMutex("stock:7").ForceUnlock(b.Context())
		if !freed || err != nil {
			t.Fatalf("ForceUnlock = %t, %v", freed, err)
		}
		next := w.wantGrantedNow()
		time.Sleep(11 * time.Second) // h finds out by its next renewal
		b.wantEnded(h, engine.ErrLost)
		b.unlock(next)
	}))
	t.Run("shows its owner", spec(engine.Options{}, func(b *bubble) {
		h := b.lock(b.FairMutex("stock:7"))
		state, err := b.another(engine.Options{}).FairMutex("stock:7").Inspect(b.Context())
		b.wantNil("Inspect", err)
		if !state.Locked || state.Ours || state.Owner != h.TenureID() || state.Count != 1 {
			t.Errorf("Inspect = %+v", state)
		}
	}))
	t.Run("is one kind of lock while it lives", spec(engine.Options{}, func(b *bubble) {
		h := b.lock(b.FairMutex("stock:7"))
		_, err := b.Mutex("stock:7").TryLock(b.Context())
		b.wantIs("Lock of a Mutex", err, engine.ErrInvalid)
		b.unlock(h)
	}))
	t.Run("rides out a server that is down, with its places", specClean(engine.Options{}, func(b *bubble) {
		other := b.another(engine.Options{})
		h := b.lock(b.FairMutex("stock:7"))
		first := b.queue(other.FairMutex("stock:7"))
		second := b.queue(b.FairMutex("stock:7"))
		b.goDown()
		time.Sleep(time.Second)
		gone := b.queue(b.FairMutex("stock:7"))
		gone.cancel(nil)
		b.redis.SetDown(false)
		time.Sleep(5 * time.Second)
		b.unlock(h)
		second.wantWaiting()
		b.unlock(first.wantGrantedNow())
		b.unlock(second.wantGrantedNow())
		time.Sleep(3 * time.Second)
	}))
	t.Run("ends its waits with its engine, and leaves the queue", spec(engine.Options{}, func(b *bubble) {
		h := b.lock(b.FairMutex("stock:7"))
		other := b.another(engine.Options{})
		w := b.queue(other.FairMutex("stock:7"))
		other.Close()
		<-w.answered
		b.wantIs("Lock", w.err, engine.ErrClosed)
		b.wantKeys("stock:7")
		b.unlock(h)
	}))
	t.Run("asks seldom while it waits", spec(engine.Options{}, func(b *bubble) {
		h := b.lock(b.FairMutex("stock:7"))
		other := b.another(engine.Options{})
		for range 50 {
			b.queue(other.FairMutex("stock:7"))
		}
		before := other.Stats().Attempts
		time.Sleep(time.Minute)
		synctest.Wait()
		if asked := other.Stats().Attempts - before; asked > 60 {
			t.Errorf("asked %d times in a minute for 50 waiters, want one question per 1.25s to 1.67s", asked)
		}
		b.unlock(h)
	}))
}
