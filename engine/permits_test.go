package engine_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/testkit"
)

// permitPool gives a semaphore of permits that are held its first permits.
func (b *bubble) permitPool(e *engine.Engine, n int64) *engine.PermitSemaphore {
	b.Helper()
	p := e.PermitSemaphore("pool")
	if set, err := p.TrySetPermits(b.Context(), n); !set || err != nil {
		b.Fatalf("TrySetPermits = %t, %v", set, err)
	}
	return p
}

func (b *bubble) acquire(p *engine.PermitSemaphore, n int, opts ...engine.LockOption) *engine.Hold {
	b.Helper()
	h, err := p.Acquire(b.Context(), n, opts...)
	if err != nil {
		b.Fatalf("Acquire(%d): %v", n, err)
	}
	return h
}

func (b *bubble) wantPermits(p *engine.PermitSemaphore, free, held int64) {
	b.Helper()
	synctest.Wait()
	if n, err := p.Available(b.Context()); n != free || err != nil {
		b.Errorf("Available = %d, %v, want %d", n, err, free)
	}
	if n, err := p.Acquired(b.Context()); n != held || err != nil {
		b.Errorf("Acquired = %d, %v, want %d", n, err, held)
	}
}

func TestPermits(t *testing.T) {
	t.Parallel()
	t.Run("are none until some are given", spec(engine.Options{}, func(b *bubble) {
		p := b.PermitSemaphore("pool")
		_, err := p.TryAcquire(b.Context(), 1)
		b.wantIs("TryAcquire", err, engine.ErrHeld)
		b.wantPermits(p, 0, 0)
	}))
	t.Run("are held under ids of their own, and freed", spec(engine.Options{}, func(b *bubble) {
		p := b.permitPool(b.Engine, 5)
		h := b.acquire(p, 3)
		seen := map[string]bool{}
		for _, id := range h.PermitIDs() {
			seen[id] = len(id) == 32
		}
		if len(seen) != 3 {
			b.Errorf("ids = %q, want three of 32 digits", h.PermitIDs())
		}
		b.wantPermits(p, 2, 3)
		b.unlock(h)
		b.wantEnded(h, engine.ErrUnlocked)
		b.wantPermits(p, 5, 0)
	}))
	t.Run("are renewed by the watchdog, all holds of them", spec(engine.Options{}, func(b *bubble) {
		p := b.permitPool(b.Engine, 100)
		var holds []*engine.Hold
		for range 100 {
			holds = append(holds, b.acquire(p, 1))
		}
		time.Sleep(manyLeases)
		b.wantPermits(p, 0, 100)
		for _, h := range holds {
			b.wantHeld(h)
			b.unlock(h)
		}
		b.wantPermits(p, 100, 0)
	}))
	t.Run("end by themselves with a fixed lease, and wake who waits, in any process", spec(engine.Options{PollCap: time.Hour}, func(b *bubble) {
		p := b.permitPool(b.Engine, 1)
		h := b.acquire(p, 1, engine.WithLease(10*time.Second))
		began := time.Now()
		next, err := b.another(engine.Options{PollCap: time.Hour}).PermitSemaphore("pool").Acquire(b.Context(), 1)
		if err != nil || time.Since(began) > 10100*time.Millisecond {
			b.Fatalf("Acquire: %v after %v, want nil after 10s", err, time.Since(began))
		}
		b.wantEnded(h, engine.ErrLost)
		b.wantPermits(p, 0, 1)
		b.unlock(next)
	}))
	t.Run("are extended", spec(engine.Options{}, func(b *bubble) {
		p := b.permitPool(b.Engine, 1)
		h := b.acquire(p, 1, engine.WithLease(10*time.Second))
		b.wantNil("Extend", h.Extend(b.Context(), time.Minute))
		time.Sleep(50 * time.Second)
		b.wantHeld(h)
		b.wantPermits(p, 0, 1)
		time.Sleep(10 * time.Second)
		b.wantEnded(h, engine.ErrLost)
		b.wantPermits(p, 1, 0)
	}))
	t.Run("are extended twice at a time", spec(engine.Options{}, func(b *bubble) {
		p := b.permitPool(b.Engine, 1)
		h := b.acquire(p, 1, engine.WithLease(10*time.Second))
		b.redis.SetLatency(100 * time.Millisecond)
		short := make(chan error, 1)
		go func() { short <- h.Extend(b.Context(), 20*time.Second) }()
		synctest.Wait() // its call is on its way
		b.wantNil("Extend by an hour", h.Extend(b.Context(), time.Hour))
		b.wantNil("Extend by 20s", <-short)
		time.Sleep(time.Minute)
		b.wantHeld(h)
		b.wantPermits(p, 0, 1)
	}))
	t.Run("that are lost are told", spec(engine.Options{}, func(b *bubble) {
		p := b.permitPool(b.Engine, 2)
		h, kept := b.acquire(p, 1), b.acquire(p, 1)
		b.wantNil("Release", b.another(engine.Options{}).PermitSemaphore("pool").Release(b.Context(), h.PermitIDs()...))
		time.Sleep(10 * time.Second)
		b.wantEnded(h, engine.ErrLost)
		b.wantHeld(kept)
		b.wantPermits(p, 1, 1)
	}))
	t.Run("are lost when the link is down for too long, and come back", spec(engine.Options{}, func(b *bubble) {
		p := b.permitPool(b.Engine, 1)
		h := b.acquire(p, 1)
		b.redis.SetDown(true)
		time.Sleep(30 * time.Second)
		b.wantEnded(h, engine.ErrLost)
		b.redis.SetDown(false)
		time.Sleep(5 * time.Second)
		b.wantPermits(p, 1, 0)
	}))
	t.Run("are set to a number, with those that are held, and wake who waits, in any process", spec(engine.Options{}, func(b *bubble) {
		p := b.PermitSemaphore("pool")
		b.wantNil("SetPermits", p.SetPermits(b.Context(), 1))
		h := b.acquire(p, 1)
		next := b.another(engine.Options{PollCap: time.Hour}).PermitSemaphore("pool").AcquireAsync(b.Context(), 2)
		synctest.Wait()
		b.wantNil("SetPermits", p.SetPermits(b.Context(), 3))
		if !settled(next) {
			b.Error("who waited was not woken")
		}
		b.wantPermits(p, 0, 3)
		b.wantNil("SetPermits", p.SetPermits(b.Context(), 1))
		b.wantPermits(p, -2, 3)
		b.wantHeld(h)
		b.unlock(h)
		b.wantPermits(p, -1, 2)
		b.wantIs("SetPermits(-1)", p.SetPermits(b.Context(), -1), engine.ErrInvalid)
	}))
	t.Run("are deleted with those that are held, whose holders are told", spec(engine.Options{}, func(b *bubble) {
		p := b.permitPool(b.Engine, 2)
		h, other := b.acquire(p, 1), b.acquire(b.another(engine.Options{}).PermitSemaphore("pool"), 1)
		waits := p.AcquireAsync(b.Context(), 2)
		synctest.Wait()
		for _, want := range []bool{true, false} {
			if deleted, err := p.Delete(b.Context()); deleted != want || err != nil {
				b.Errorf("Delete = %t, %v, want %t", deleted, err, want)
			}
		}
		b.wantPermits(p, 0, 0)
		time.Sleep(10 * time.Second)
		b.wantEnded(h, engine.ErrLost)
		b.wantEnded(other, engine.ErrLost)
		b.permitPool(b.Engine, 2) // what was lost does not come back to them
		if !settled(waits) {
			b.Error("who waited was not woken by new permits")
		}
		b.wantPermits(p, 0, 2)
	}))
	t.Run("end with MaxHold", spec(engine.Options{MaxHold: time.Minute}, func(b *bubble) {
		p := b.permitPool(b.Engine, 1)
		h := b.acquire(p, 1)
		time.Sleep(time.Minute)
		b.wantEnded(h, engine.ErrMaxHold)
		b.wantPermits(p, 1, 0)
	}))
}

func TestPermitRelease(t *testing.T) {
	t.Parallel()
	t.Run("by id ends the hold", spec(engine.Options{}, func(b *bubble) {
		p := b.permitPool(b.Engine, 4)
		h, other := b.acquire(p, 2), b.acquire(p, 1)
		b.wantNil("Release", p.Release(b.Context(), h.PermitIDs()...))
		b.wantEnded(h, engine.ErrUnlocked)
		b.wantHeld(other)
		b.wantPermits(p, 3, 1)
		b.wantIs("Release again", p.Release(b.Context(), h.PermitIDs()...), engine.ErrLost)
		b.wantPermits(p, 3, 1)
	}))
	t.Run("is all or nothing", spec(engine.Options{}, func(b *bubble) {
		p := b.permitPool(b.Engine, 4)
		h := b.acquire(p, 2)
		ids := append(h.PermitIDs(), "00000000000000000000000000000000")
		b.wantIs("Release", b.another(engine.Options{}).PermitSemaphore("pool").Release(b.Context(), ids...), engine.ErrLost)
		b.wantPermits(p, 2, 2)
		b.wantHeld(h)
	}))
	t.Run("is all or nothing also for holds of this engine", spec(engine.Options{}, func(b *bubble) {
		p := b.permitPool(b.Engine, 4)
		h, other := b.acquire(p, 2), b.acquire(b.another(engine.Options{}).PermitSemaphore("pool"), 1)
		b.wantIs("Release", p.Release(b.Context(), h.PermitIDs()[0], other.PermitIDs()[0], "00000000000000000000000000000000"), engine.ErrLost)
		b.wantHeld(h)
		b.wantHeld(other)
		b.wantPermits(p, 1, 3)
		b.wantNil("Release", p.Release(b.Context(), h.PermitIDs()[0], other.PermitIDs()[0]))
		b.wantEnded(h, engine.ErrUnlocked)
		b.wantPermits(p, 4, 0)
		time.Sleep(10 * time.Second)
		b.wantEnded(other, engine.ErrLost)
	}))
	t.Run("of an id that is given twice frees it once", spec(engine.Options{}, func(b *bubble) {
		p := b.permitPool(b.Engine, 4)
		h, kept := b.acquire(p, 1), b.acquire(p, 1)
		id, other := h.PermitIDs()[0], b.another(engine.Options{}).PermitSemaphore("pool")
		b.wantNil("Release", other.Release(b.Context(), id, strings.ToUpper(id), id))
		b.wantPermits(p, 3, 1)
		b.wantIs("Release again", other.Release(b.Context(), id, id), engine.ErrLost)
		id = kept.PermitIDs()[0]
		b.wantNil("Release of our own", p.Release(b.Context(), id, id))
		b.wantPermits(p, 4, 0)
	}))
	observer := &engine.Observer{Ended: func(engine.End) {}} // its holds are of another type
	t.Run("of a Limit, by ids that its holder told, frees those of nobody else", spec(engine.Options{Observer: observer}, func(b *bubble) {
		limit, p := b.Limit("pool", 1), b.another(engine.Options{}).PermitSemaphore("pool")
		h := b.lock(limit)
		ids := h.PermitIDs()
		next := b.queue(limit)
		b.unlock(h)
		granted := next.granted()
		b.wantIs("Release", p.Release(b.Context(), ids...), engine.ErrLost)
		b.wantHeld(granted)
		b.wantPermits(p, 0, 1)
	}))
	t.Run("of what is no id is ErrInvalid", spec(engine.Options{}, func(b *bubble) {
		p := b.PermitSemaphore("pool")
		b.wantIs("Release()", p.Release(b.Context()), engine.ErrInvalid)
		b.wantIs("Release(x)", p.Release(b.Context(), "x"), engine.ErrInvalid)
		for _, n := range []int{0, -1, 1001} {
			_, err := p.Acquire(b.Context(), n)
			b.wantIs("Acquire", err, engine.ErrInvalid)
		}
		_, err := p.Acquire(b.Context(), 1, engine.WithOwner(engine.NewOwner()))
		b.wantIs("Acquire with an owner", err, engine.ErrInvalid)
	}))
}

func TestPermitWaiters(t *testing.T) {
	t.Parallel()
	t.Run("are served in order", spec(engine.Options{}, func(b *bubble) {
		p := b.permitPool(b.Engine, 2)
		h := b.acquire(p, 2)
		large, small := p.AcquireAsync(b.Context(), 2), p.AcquireAsync(b.Context(), 1)
		b.unlock(h)
		if !settled(large) || settled(small) {
			b.Error("the first was not served alone")
		}
	}))
	t.Run("that go away let those behind them in", spec(engine.Options{}, func(b *bubble) {
		p := b.permitPool(b.Engine, 1)
		large, small := p.AcquireAsync(b.Context(), 2), p.AcquireAsync(b.Context(), 1)
		synctest.Wait()
		large.Cancel()
		if !settled(small) {
			b.Error("the one behind still waits")
		}
		b.wantPermits(p, 0, 1)
	}))
	t.Run("that try are told when the next permit ends", spec(engine.Options{}, func(b *bubble) {
		p := b.permitPool(b.Engine, 1)
		b.acquire(p, 1, engine.WithLease(10*time.Second))
		_, err := p.TryAcquire(b.Context(), 1)
		var held *engine.HeldError
		if !errors.As(err, &held) || held.TTL != 10*time.Second {
			b.Errorf("TryAcquire = %v, want ErrHeld for 10s", err)
		}
		testkit.Mentions(b, err, `wheellock: "pool": too few permits are free, the next lease ends in 10s`)
	}))
}
