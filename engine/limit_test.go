package engine_test

import (
	"context"
	"errors"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/testkit"
)

// invariant: limit-counts-all-holds
func TestLimit(t *testing.T) {
	t.Parallel()
	t.Run("lets n in without being set up, in all processes, and is a semaphore of n permits", spec(engine.Options{}, func(b *bubble) {
		other := b.another(engine.Options{})
		first, second := b.lock(b.Limit("pool", 2)), b.lock(other.Limit("pool", 2))
		for _, e := range []*engine.Engine{b.Engine, other} {
			_, err := e.Limit("pool", 2).TryLock(b.Context())
			b.wantIs("a third", err, engine.ErrHeld)
		}
		w := b.queue(other.Limit("pool", 2))
		b.unlock(first)
		third := w.granted()
		b.wantPermits(b.PermitSemaphore("pool"), 0, 2)
		b.unlock(second)
		b.unlock(third)
		b.wantPermits(b.PermitSemaphore("pool"), 2, 0)
	}))
	t.Run("has the n of the last call, and ends no hold when it shrinks", spec(engine.Options{}, func(b *bubble) {
		var holds []*engine.Hold
		for range 5 {
			holds = append(holds, b.lock(b.Limit("pool", 5)))
		}
		w := b.queue(b.another(engine.Options{}).Limit("pool", 2))
		b.wantPermits(b.PermitSemaphore("pool"), -3, 5)
		for _, h := range holds[:3] {
			b.wantHeld(h)
			b.unlock(h)
		}
		w.wantWaiting()
		b.unlock(holds[3])
		last := w.granted()
		b.wantPermits(b.PermitSemaphore("pool"), 0, 2)
		b.unlock(last)
		b.unlock(holds[4])
		b.wantPermits(b.PermitSemaphore("pool"), 2, 0)
	}))
	t.Run("that grows lets those in that wait, here and in processes without a number of their own", spec(engine.Options{PollCap: time.Hour}, func(b *bubble) {
		holds := []*engine.Hold{b.lock(b.Limit("pool", 1))}
		waits := b.queue(b.Limit("pool", 1))
		elsewhere := b.another(engine.Options{PollCap: time.Hour}).PermitSemaphore("pool").AcquireAsync(b.Context(), 1)
		synctest.Wait()
		holds = append(holds, b.queue(b.Limit("pool", 4)).wantGrantedNow(), waits.wantGrantedNow())
		if !settled(elsewhere) {
			b.Error("the other process was not woken")
		}
		h, _ := elsewhere.Result()
		for _, h := range append(holds, h) {
			b.unlock(h)
		}
	}))
	t.Run("of a try that callers come before counts for them", spec(engine.Options{PollCap: time.Hour}, func(b *bubble) {
		h := b.lock(b.Limit("pool", 1))
		w := b.queue(b.Limit("pool", 1))
		_, err := b.Limit("pool", 2).TryLock(b.Context())
		b.wantIs("TryLock", err, engine.ErrHeld)
		b.unlock(w.granted())
		b.unlock(h)
	}))
	t.Run("takes several at once for a caller that counts as several", spec(engine.Options{}, func(b *bubble) {
		h := b.lock(b.Limit("pool", 5).Of(3))
		if n := len(h.PermitIDs()); n != 3 {
			b.Errorf("%d permits, want 3", n)
		}
		b.wantPermits(b.PermitSemaphore("pool"), 2, 3)
		_, err := b.Limit("pool", 5).Of(3).TryLock(b.Context())
		b.wantIs("three more", err, engine.ErrHeld)
		b.wantNil("Do", engine.Do(b.Context(), b.Limit("pool", 5).Of(2), func(context.Context, *engine.Hold) error { return nil }))
		b.unlock(h)
	}))
	t.Run("counts the holds that are in Redis, also after its number is gone", spec(engine.Options{}, func(b *bubble) {
		h, long := b.lock(b.Limit("pool", 2)), b.Limit("pool", 2)
		if ttl := b.ttl("pool"); ttl <= 0 || ttl > 24*time.Hour {
			b.Errorf("the number ends in %v, want a day", ttl)
		}
		b.redis.Lose("pool")
		time.Sleep(manyLeases)
		b.wantHeld(h)
		other := b.lock(long)
		_, err := long.TryLock(b.Context())
		b.wantIs("a third", err, engine.ErrHeld)
		b.unlock(h)
		b.unlock(other)
		b.wantPermits(b.PermitSemaphore("pool"), 2, 0)
	}))
	t.Run("refuses what is wrong before anything is taken", specClean(engine.Options{}, func(b *bubble) {
		wrong := map[string]engine.Locker{
			"0": b.Limit("pool", 0), "-1": b.Limit("pool", -1), "no name": b.Limit("", 1),
			"0 of 1": b.Limit("pool", 1).Of(0), "2 of 1": b.Limit("pool", 1).Of(2), "1001 of more": b.Limit("pool", 5000).Of(1001),
		}
		if uint64(math.MaxInt) > 1<<50 {
			wrong["more than 2^50"] = b.Limit("pool", math.MaxInt)
		}
		for what, l := range wrong {
			_, err := l.TryLock(b.Context())
			b.wantIs("TryLock of "+what, err, engine.ErrInvalid)
			_, err = l.LockAsync(b.Context()).Wait(b.Context())
			b.wantIs("Lock of "+what, err, engine.ErrInvalid)
			_, err = engine.Multi(b.Mutex("other"), l)
			b.wantIs("Multi with "+what, err, engine.ErrInvalid)
		}
		_, err := engine.Multi(b.Limit("pool", 1), b.Limit("pool", 2))
		b.wantIs("Multi of two numbers of one name", err, engine.ErrInvalid)
		_, err = b.Limit("pool", 1).TryLock(b.Context(), engine.WithOwner(engine.NewOwner()))
		b.wantIs("TryLock with an Owner", err, engine.ErrInvalid)
	}))
}

// A caller that needs a place in two limits gets both or none, and its turn beside callers of each. invariant: multi-all-or-nothing
func TestSeveralLimitsAtOnce(t *testing.T) {
	spec(engine.Options{}, func(b *bubble) {
		ctx, stop := context.WithCancel(b.Context())
		var callers sync.WaitGroup
		tenant, backend := b.Limit("tenant", 2), b.Limit("backend", 3)
		for i := range 2 {
			e := b.another(engine.Options{})
			for _, l := range []engine.Locker{e.Limit("tenant", 2), e.Limit("backend", 3)} {
				for range 2 + i {
					callers.Go(func() {
						for {
							h, err := l.Lock(ctx)
							if err != nil {
								return
							}
							time.Sleep(10 * time.Millisecond)
							b.wantNil("Unlock", h.Unlock(context.Background()))
						}
					})
				}
			}
		}
		both := testkit.Multi(b, backend, tenant)
		for range 20 {
			began := time.Now()
			h, err := both.Lock(ctx)
			if took := time.Since(began); err != nil || took > time.Second {
				b.Errorf("both after %v: %v", took, err)
			}
			b.unlock(h)
		}
		stop()
		callers.Wait()
		b.wantPermits(b.PermitSemaphore("tenant"), 2, 0)
		b.wantPermits(b.PermitSemaphore("backend"), 3, 0)
		h := b.lock(tenant.Of(2))
		_, err := both.TryLock(b.Context())
		if !errors.Is(err, engine.ErrHeld) {
			b.Errorf("TryLock of both: %v", err)
		}
		time.Sleep(time.Second)
		b.wantPermits(b.PermitSemaphore("backend"), 3, 0)
		b.unlock(h)
	})(t)
}
