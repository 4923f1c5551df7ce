package engine_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wheellock/wheellock/engine"
)

func TestSpecWithWait(t *testing.T) {
	t.Parallel()
	// late is how much later than asked for WithWait may give up: it costs a place in a slot, not a timer.
	const late = 25 * time.Millisecond

	givesUp := func(b *bubble, err error, since time.Time) {
		b.Helper()
		b.wantIs("Lock", err, engine.ErrWaitTimeout)
		if took := time.Since(since); took < 3*time.Second || took > 3*time.Second+late {
			b.Errorf("it gave up after %v, want 3s, at most %v later", took, late)
		}
	}
	t.Run("gives up, ErrHeld too, when this process has the lock", spec(engine.Options{}, func(b *bubble) {
		h := b.lock(b.Mutex("stock:7"))
		since := time.Now()
		_, err := b.Mutex("stock:7").Lock(b.Context(), engine.WithWait(3*time.Second))
		givesUp(b, err, since)
		b.wantIs("Lock", err, engine.ErrHeld)
		b.wantIsNot("Lock", err, engine.ErrUnavailable)
		b.wantHeld(h)
	}))
	t.Run("gives up, ErrHeld too, when another process has the lock", specClean(engine.Options{}, func(b *bubble) {
		h := b.lock(b.another(engine.Options{}).Mutex("stock:7"))
		since := time.Now()
		_, err := b.Mutex("stock:7").Lock(b.Context(), engine.WithWait(3*time.Second))
		givesUp(b, err, since)
		b.wantIs("Lock", err, engine.ErrHeld)
		b.wantIsNot("Lock", err, engine.ErrUnavailable)
		b.unlock(h)
		time.Sleep(time.Minute)
	}))
	t.Run("gives up, ErrUnavailable too, when Redis is down", spec(engine.Options{}, func(b *bubble) {
		b.goDown()
		since := time.Now()
		_, err := b.Mutex("stock:7").Lock(b.Context(), engine.WithWait(3*time.Second))
		givesUp(b, err, since)
		b.wantIs("Lock", err, engine.ErrUnavailable)
		b.wantIsNot("Lock", err, engine.ErrHeld)
	}))
	t.Run("says what the last answer was when Redis goes down meanwhile", spec(engine.Options{}, func(b *bubble) {
		b.lock(b.another(engine.Options{}).Mutex("stock:7"))
		since := time.Now()
		w := b.queue(b.Mutex("stock:7"), engine.WithWait(3*time.Second))
		b.goDown()
		<-w.answered
		givesUp(b, w.err, since)
		b.wantIs("Lock", w.err, engine.ErrUnavailable)
	}))
	t.Run("waits for ever when that is asked for", spec(engine.Options{PollCap: math.MaxInt64, MaxHold: math.MaxInt64}, func(b *bubble) {
		other := b.another(engine.Options{})
		h := b.lock(other.Mutex("stock:7"))
		time.Sleep(time.Second)
		w := b.queue(b.Mutex("stock:7"), engine.WithWait(math.MaxInt64))
		before := b.Stats().Attempts
		time.Sleep(10 * time.Minute)
		w.wantWaiting()
		if asked := b.Stats().Attempts - before; asked > 40 { // when the owner's lease might have ended
			b.Errorf("Redis was asked %d times in 10 minutes", asked)
		}
		b.unlock(h)
		next := w.granted()
		time.Sleep(time.Minute)
		b.wantHeld(next)
	}))
	t.Run("keeps its place in line, however long it may sleep", spec(engine.Options{PollCap: time.Hour}, func(b *bubble) {
		other := b.another(engine.Options{})
		for theirs, ours := range map[*engine.Mutex]*engine.Mutex{
			other.Mutex("mutex"):         b.Mutex("mutex"),
			other.RWMutex("w").Reader():  b.RWMutex("w").Writer(),
			other.RWMutex("rw").Writer(): b.RWMutex("rw").Reader(),
			other.FencedMutex("fenced"):  b.FencedMutex("fenced"),
		} {
			h := b.lock(theirs, engine.WithLease(time.Hour))
			w := b.queue(ours)
			time.Sleep(5 * time.Minute)
			b.unlock(h)
			b.unlock(w.wantGrantedNow())
		}
	}))
	t.Run("gives up asynchronously, too", spec(engine.Options{}, func(b *bubble) {
		b.lock(b.Mutex("stock:7"))
		since := time.Now()
		_, err := b.Mutex("stock:7").LockAsync(b.Context(), engine.WithWait(3*time.Second)).Wait(b.Context())
		givesUp(b, err, since)
	}))
	t.Run("does nothing to a lock that came in time", spec(engine.Options{}, func(b *bubble) {
		h := b.lock(b.Mutex("stock:7"))
		w := b.queue(b.Mutex("stock:7"), engine.WithWait(3*time.Second))
		time.Sleep(2 * time.Second)
		b.unlock(h)
		next := w.granted()
		time.Sleep(time.Minute)
		b.wantHeld(next)
	}))
	t.Run("takes one out of the queue and leaves the others", specClean(engine.Options{}, func(b *bubble) {
		h := b.lock(b.Mutex("stock:7"))
		before := b.queue(b.Mutex("stock:7"))
		w := b.queue(b.Mutex("stock:7"), engine.WithWait(time.Second))
		behind := b.queue(b.Mutex("stock:7"))
		time.Sleep(2 * time.Second)
		if w.waits() {
			b.Error("it still waits")
		}
		b.unlock(h)
		b.unlock(before.wantGrantedNow())
		b.unlock(behind.wantGrantedNow())
	}))
	t.Run("and what ends first, it or the context, decides", spec(engine.Options{}, func(b *bubble) {
		b.lock(b.Mutex("stock:7"))
		ctx, cancel := context.WithTimeout(b.Context(), time.Second)
		defer cancel()
		_, err := b.Mutex("stock:7").Lock(ctx, engine.WithWait(3*time.Second))
		b.wantIs("Lock", err, context.DeadlineExceeded)
		b.wantIsNot("Lock", err, engine.ErrWaitTimeout)
	}))
}

func TestSpecTryLock(t *testing.T) {
	t.Parallel()
	t.Run("takes a free lock", specClean(engine.Options{}, func(b *bubble) {
		h, err := b.Mutex("stock:7").TryLock(b.Context())
		if err != nil {
			b.Fatalf("TryLock: %v", err)
		}
		time.Sleep(5 * time.Minute)
		b.wantHeld(h)
		b.unlock(h)
	}))
	t.Run("tells name and TTL of a lock that another process has", spec(engine.Options{}, func(b *bubble) {
		b.lock(b.another(engine.Options{}).Mutex("stock:7"), engine.WithLease(time.Minute))
		time.Sleep(20 * time.Second)
		h, err := b.Mutex("stock:7").TryLock(b.Context())
		b.wantIs("TryLock", err, engine.ErrHeld)
		var held *engine.HeldError
		if h != nil || !errors.As(err, &held) || held.Name != "stock:7" || held.TTL != 40*time.Second {
			b.Errorf("TryLock = %v, %+v; want a HeldError for stock:7 with 40s", h, err)
		}
	}))
	t.Run("tells name and TTL of a lock that this process has", spec(engine.Options{NameMapper: func(name string) string { return "shop:" + name }}, func(b *bubble) {
		h := b.lock(b.Mutex("stock:7"), engine.WithLease(time.Minute))
		time.Sleep(20 * time.Second)
		_, err := b.Mutex("stock:7").TryLock(b.Context())
		var held *engine.HeldError
		if !errors.As(err, &held) || held.Name != "stock:7" || held.TTL != time.Until(h.Deadline()) {
			b.Errorf("TryLock: %+v, want a HeldError for stock:7 with %v", err, time.Until(h.Deadline()))
		}
	}))
	t.Run("does not wait", spec(engine.Options{}, func(b *bubble) {
		b.lock(b.another(engine.Options{}).Mutex("stock:7"))
		since := time.Now()
		b.Mutex("stock:7").TryLock(b.Context())
		b.Mutex("stock:7").TryLockAsync(b.Context()).Wait(b.Context())
		if took := time.Since(since); took != 0 {
			b.Errorf("it took %v", took)
		}
	}))
	t.Run("invariant: trylock-takes-no-handoff: while a local hold lives it is ErrHeld at once, without asking", spec(engine.Options{}, func(b *bubble) {
		b.lock(b.Mutex("stock:7"))
		b.redis.Lose("stock:7") // Redis would say yes
		before := b.Stats().Batches
		_, err := b.Mutex("stock:7").TryLock(b.Context())
		b.wantIs("TryLock", err, engine.ErrHeld)
		if sent := b.Stats().Batches - before; sent != 0 {
			b.Errorf("%d pipelines were sent", sent)
		}
	}))
	t.Run("invariant: trylock-takes-no-handoff: while local waiters queue it is ErrHeld at once, without asking", spec(engine.Options{}, func(b *bubble) {
		theirs := b.lock(b.another(engine.Options{}).Mutex("stock:7"))
		w := b.queue(b.Mutex("stock:7"))
		before := b.Stats().Attempts
		_, err := b.Mutex("stock:7").TryLock(b.Context())
		b.wantIs("TryLock", err, engine.ErrHeld)
		if asked := b.Stats().Attempts - before; asked != 0 {
			b.Errorf("Redis was asked %d times", asked)
		}
		b.unlock(theirs)
		w.granted()
	}))
	t.Run("invariant: trylock-takes-no-handoff: never takes a handoff", spec(engine.Options{}, func(b *bubble) {
		h := b.lock(b.Mutex("stock:7"))
		unlocked := h.UnlockAsync()
		try := b.Mutex("stock:7").TryLockAsync(b.Context())
		if _, err := unlocked.Wait(b.Context()); err != nil {
			b.Errorf("Unlock: %v", err)
		}
		next, err := try.Wait(b.Context())
		if err == nil && next.TenureID() == h.TenureID() {
			b.Error("TryLock was handed the tenure that was just given up")
		}
		if handoffs := b.Stats().Handoffs; handoffs != 0 {
			b.Errorf("%d handoffs", handoffs)
		}
	}))
	t.Run("of many at once lets one in", spec(engine.Options{}, func(b *bubble) {
		granted := make(chan *engine.Hold, 100)
		for range cap(granted) {
			go func() {
				if h, err := b.Mutex("stock:7").TryLock(b.Context()); err == nil {
					granted <- h
				} else if !errors.Is(err, engine.ErrHeld) {
					b.Errorf("TryLock: %v", err)
				}
			}()
		}
		synctest.Wait()
		if n := len(granted); n != 1 {
			b.Errorf("%d have the lock", n)
		}
	}))
}

func TestSpecOrder(t *testing.T) {
	t.Parallel()
	t.Run("waiters are served in the order of arrival", specClean(engine.Options{}, func(b *bubble) {
		h := b.lock(b.Mutex("stock:7"))
		var queue []*waiting
		for i := range 20 {
			var opts []engine.LockOption
			switch i % 3 {
			case 1:
				opts = append(opts, engine.WithLease(time.Minute))
			case 2:
				opts = append(opts, engine.WithWait(time.Hour))
			}
			queue = append(queue, b.queue(b.Mutex("stock:7"), opts...))
		}
		for i, w := range queue {
			b.unlock(h)
			h = w.wantGrantedNow()
			for _, behind := range queue[i+1:] {
				behind.wantWaiting()
			}
		}
		b.unlock(h)
	}))
	t.Run("waiters of one process share the lock with those of another", specClean(engine.Options{}, func(b *bubble) {
		other := b.another(engine.Options{})
		stop := make(chan struct{})
		turns := [2]int{}
		for i, e := range []*engine.Engine{b.Engine, other} {
			for range 4 {
				go func() {
					for !isClosed(stop) {
						h, err := e.Mutex("stock:7").Lock(b.Context())
						if err != nil {
							b.Errorf("Lock: %v", err)
							return
						}
						turns[i]++ // guarded by the lock
						time.Sleep(time.Millisecond)
						h.Unlock(b.Context())
					}
				}()
			}
		}
		time.Sleep(5 * time.Second)
		close(stop)
		time.Sleep(time.Second)
		synctest.Wait()
		if least, most := min(turns[0], turns[1]), max(turns[0], turns[1]); least < most/4 {
			b.Errorf("turns = %v: one process starves", turns)
		}
	}))
}
