package engine_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/futures"
	"github.com/wheellock/wheellock/internal/testkit"
)

func (b *bubble) permits(s *engine.Semaphore, want int64) {
	b.Helper()
	if n, err := s.Available(b.Context()); n != want || err != nil {
		b.Errorf("Available = %d, %v, want %d", n, err, want)
	}
}

// setPermits gives a semaphore its first permits.
func (b *bubble) setPermits(s *engine.Semaphore, n int64) {
	b.Helper()
	if set, err := s.TrySetPermits(b.Context(), n); !set || err != nil {
		b.Fatalf("TrySetPermits = %t, %v", set, err)
	}
}

// settled reports whether a future has its answer by now, when everything has happened that can without time.
func settled[T any](f *futures.Future[T]) bool {
	synctest.Wait()
	_, err := f.Result()
	return !errors.Is(err, futures.ErrPending)
}

func TestSemaphorePermits(t *testing.T) {
	t.Parallel()
	t.Run("are none until some are given", spec(engine.Options{}, func(b *bubble) {
		s := b.Semaphore("pool")
		b.permits(s, 0)
		b.wantIs("Context", s.TryAcquire(b.Context(), 1), engine.ErrHeld)
	}))
	t.Run("are set once", spec(engine.Options{}, func(b *bubble) {
		s := b.Semaphore("pool")
		b.setPermits(s, 10)
		if set, err := s.TrySetPermits(b.Context(), 20); set || err != nil {
			b.Errorf("TrySetPermits again = %t, %v, want false", set, err)
		}
		b.permits(s, 10)
	}))
	t.Run("are made by releases", spec(engine.Options{}, func(b *bubble) {
		s := b.Semaphore("pool")
		b.wantNil("Release", s.Release(b.Context(), 3))
		b.permits(s, 3)
	}))
	t.Run("are added and taken away, also below none", spec(engine.Options{}, func(b *bubble) {
		s := b.Semaphore("pool")
		b.wantNil("AddPermits", s.AddPermits(b.Context(), 5))
		b.permits(s, 5)
		b.wantNil("AddPermits", s.AddPermits(b.Context(), -8))
		b.permits(s, -3)
		b.wantIs("Context", s.TryAcquire(b.Context(), 1), engine.ErrHeld)
		b.wantNil("Release", s.Release(b.Context(), 4))
		b.wantNil("TryAcquire", s.TryAcquire(b.Context(), 1))
	}))
	t.Run("are drained", spec(engine.Options{}, func(b *bubble) {
		s := b.Semaphore("pool")
		for _, n := range []int64{7, 0, -2} {
			b.wantNil("AddPermits", s.AddPermits(b.Context(), n))
			if got, err := s.Drain(b.Context()); got != n || err != nil {
				b.Errorf("Drain = %d, %v, want %d", got, err, n)
			}
			b.permits(s, 0)
		}
	}))
	t.Run("are not drained if they are fewer than an answer can say", spec(engine.Options{}, func(b *bubble) {
		s := b.Semaphore("pool")
		for range 5 {
			b.wantNil("AddPermits", s.AddPermits(b.Context(), -1<<50))
		}
		_, err := s.Drain(b.Context())
		b.wantIs("Drain", err, engine.ErrRefused)
		b.permits(s, -5<<50)
	}))
	t.Run("that live for a time are gone then, whoever has them", spec(engine.Options{}, func(b *bubble) {
		s := b.Semaphore("pool")
		for _, want := range []bool{true, false} {
			if set, err := s.TrySetPermitsFor(b.Context(), 3, time.Minute); set != want || err != nil {
				b.Errorf("TrySetPermitsFor = %t, %v, want %t", set, err, want)
			}
		}
		b.wantNil("Acquire", s.Acquire(b.Context(), 2))
		b.wantNil("Release", s.Release(b.Context(), 1))
		time.Sleep(time.Minute - time.Millisecond)
		b.permits(s, 2)
		time.Sleep(2 * time.Millisecond) // one more: the clock of the server moves by whole ones
		b.permits(s, 0)
		b.setPermits(s, 1)
		time.Sleep(time.Hour)
		b.permits(s, 1)
	}))
	t.Run("that live for a time stay once some are added", spec(engine.Options{}, func(b *bubble) {
		s := b.Semaphore("pool")
		if set, err := s.TrySetPermitsFor(b.Context(), 1, time.Minute); !set || err != nil {
			b.Errorf("TrySetPermitsFor = %t, %v", set, err)
		}
		b.wantNil("AddPermits", s.AddPermits(b.Context(), 1))
		time.Sleep(time.Hour)
		b.permits(s, 2)
	}))
	t.Run("are deleted, and who waits goes on waiting", spec(engine.Options{}, func(b *bubble) {
		s := b.Semaphore("pool")
		b.setPermits(s, 2)
		f := b.another(engine.Options{}).Semaphore("pool").AcquireAsync(b.Context(), 3)
		synctest.Wait()
		for _, want := range []bool{true, false} {
			if deleted, err := s.Delete(b.Context()); deleted != want || err != nil {
				b.Errorf("Delete = %t, %v, want %t", deleted, err, want)
			}
		}
		b.permits(s, 0)
		b.setPermits(s, 3)
		if !settled(f) {
			b.Error("who waited was not woken by new permits")
		}
	}))
	t.Run("stay with who acquired them when the engine is closed", spec(engine.Options{}, func(b *bubble) {
		other := b.another(engine.Options{})
		s := other.Semaphore("pool")
		b.setPermits(s, 3)
		b.wantNil("Acquire", s.Acquire(b.Context(), 2))
		b.wantNil("Close", other.Close())
		b.permits(b.Semaphore("pool"), 1)
		b.wantIs("Context", s.Release(b.Context(), 1), engine.ErrClosed)
		b.wantIs("Context", s.Acquire(b.Context(), 1), engine.ErrClosed)
	}))
	t.Run("may be very many", spec(engine.Options{}, func(b *bubble) {
		s := b.Semaphore("pool")
		b.setPermits(s, 1<<50)
		b.wantNil("Acquire", s.Acquire(b.Context(), 1<<50-1))
		b.permits(s, 1)
		b.wantNil("Release", s.Release(b.Context(), 1<<50-1))
		b.permits(s, 1<<50)
	}))
}

func TestSemaphoreWaiters(t *testing.T) {
	t.Parallel()
	t.Run("get their permits all at once", spec(engine.Options{}, func(b *bubble) {
		s := b.Semaphore("pool")
		f := s.AcquireAsync(b.Context(), 2)
		b.wantNil("Release", s.Release(b.Context(), 1))
		if settled(f) {
			b.Error("granted 2 of 1")
		}
		b.wantNil("AddPermits", s.AddPermits(b.Context(), 1))
		if !settled(f) {
			b.Error("not granted 2 of 2")
		}
		b.permits(s, 0)
	}))
	t.Run("are served in the order of arrival, also when one behind wants less", spec(engine.Options{}, func(b *bubble) {
		s := b.Semaphore("pool")
		large, small := s.AcquireAsync(b.Context(), 3), s.AcquireAsync(b.Context(), 1)
		b.wantNil("Release", s.Release(b.Context(), 2))
		if settled(large) || settled(small) {
			b.Error("somebody was let past the first")
		}
		b.wantNil("Release", s.Release(b.Context(), 1))
		if !settled(large) || settled(small) {
			b.Error("the first was not served alone")
		}
	}))
	t.Run("are served many in one call", spec(engine.Options{}, func(b *bubble) {
		s := b.Semaphore("pool")
		var queue []*futures.Future[struct{}]
		for i := range 100 {
			queue = append(queue, s.AcquireAsync(b.Context(), int64(1+i%3)))
		}
		synctest.Wait()
		before := b.Stats().Attempts
		other := b.another(engine.Options{})
		b.wantNil("Release", other.Semaphore("pool").Release(b.Context(), 199)) // 1+2+3+...
		for _, f := range queue {
			if !settled(f) {
				b.Fatal("a waiter for whom there are permits was not served")
			}
		}
		if asked := b.Stats().Attempts - before; asked != 1 {
			b.Errorf("Redis was asked %d times, want once", asked)
		}
		b.permits(s, 0)
	}))
	t.Run("are woken by another process", spec(engine.Options{}, func(b *bubble) {
		f := b.Semaphore("pool").AcquireAsync(b.Context(), 1)
		synctest.Wait()
		began := time.Now()
		b.wantNil("Release", b.another(engine.Options{}).Semaphore("pool").Release(b.Context(), 1))
		f.Wait(b.Context())
		if took := time.Since(began); took > 0 {
			b.Errorf("woken after %v, want at once", took)
		}
	}))
	t.Run("that go away let those behind them in", spec(engine.Options{}, func(b *bubble) {
		s := b.Semaphore("pool")
		b.setPermits(s, 1)
		large, small := s.AcquireAsync(b.Context(), 2), s.AcquireAsync(b.Context(), 1)
		synctest.Wait()
		large.Cancel()
		if !settled(small) {
			b.Error("the one behind still waits")
		}
	}))
}

func TestSemaphoreTryAcquire(t *testing.T) {
	t.Parallel()
	t.Run("says at once that there are too few", spec(engine.Options{}, func(b *bubble) {
		s := b.Semaphore("pool")
		b.setPermits(s, 1)
		err := s.TryAcquire(b.Context(), 2)
		var held *engine.HeldError
		if !errors.As(err, &held) || held.TTL >= 0 || held.Name != "pool" {
			b.Errorf("TryAcquire = %#v, want a HeldError of pool with a negative TTL", err)
		}
		testkit.Mentions(b, err, `wheellock: "pool": too few permits are free`)
		b.wantNil("TryAcquire", s.TryAcquire(b.Context(), 1))
	}))
	t.Run("is not refused because another wanted too much at the same time", spec(engine.Options{}, func(b *bubble) {
		s := b.Semaphore("pool")
		b.setPermits(s, 2)
		large, small, both := s.TryAcquireAsync(b.Context(), 5), s.TryAcquireAsync(b.Context(), 1), s.TryAcquireAsync(b.Context(), 2)
		if _, err := large.Wait(b.Context()); !errors.Is(err, engine.ErrHeld) {
			b.Errorf("5 of 2: %v, want ErrHeld", err)
		}
		_, err := small.Wait(b.Context())
		b.wantNil("1 of 2", err)
		if _, err := both.Wait(b.Context()); !errors.Is(err, engine.ErrHeld) {
			b.Errorf("2 of 1: %v, want ErrHeld", err)
		}
	}))
	t.Run("does not overtake who waits", spec(engine.Options{}, func(b *bubble) {
		s := b.Semaphore("pool")
		b.setPermits(s, 1)
		s.AcquireAsync(b.Context(), 2)
		synctest.Wait()
		b.wantIs("Context", s.TryAcquire(b.Context(), 1), engine.ErrHeld)
	}))
	t.Run("fails while the link is down, and so do the calls of administrators", spec(engine.Options{}, func(b *bubble) {
		s := b.Semaphore("pool")
		b.redis.SetDown(true)
		b.Mutex("other").TryLock(b.Context()) // finds out
		time.Sleep(time.Second)
		released := s.ReleaseAsync(b.Context(), 1)
		b.wantIs("Context", s.TryAcquire(b.Context(), 1), engine.ErrNotSent)
		b.wantIs("Context", s.AddPermits(b.Context(), 1), engine.ErrNotSent)
		_, err := s.TrySetPermits(b.Context(), 1)
		b.wantIs("the error", err, engine.ErrNotSent)
		_, err = s.Drain(b.Context())
		b.wantIs("the error", err, engine.ErrNotSent)
		_, err = s.Delete(b.Context())
		b.wantIs("the error", err, engine.ErrNotSent)
		if settled(released) {
			b.Error("a release did not wait for the link")
		}
		b.redis.SetDown(false)
		_, err = released.Wait(b.Context())
		b.wantNil("Release", err)
		b.permits(s, 1)
	}))
}

func TestSemaphoreCallsThatCannotBeRight(t *testing.T) {
	t.Parallel()
	t.Run("are ErrInvalid", spec(engine.Options{}, func(b *bubble) {
		s, ctx := b.Semaphore("pool"), b.Context()
		for what, err := range map[string]error{
			"Acquire(-1)":          s.Acquire(ctx, -1),
			"Acquire(2^50+1)":      s.Acquire(ctx, 1<<50+1),
			"Acquire with a lease": s.Acquire(ctx, 1, engine.WithLease(time.Second)),
			"Acquire with owner":   s.Acquire(ctx, 1, engine.WithOwner(engine.NewOwner())),
			"TryAcquire with wait": s.TryAcquire(ctx, 1, engine.WithWait(time.Second)),
			"Release(-1)":          s.Release(ctx, -1),
			"AddPermits(2^60)":     s.AddPermits(ctx, 1<<60),
			"no name":              b.Semaphore("").Acquire(ctx, 0),
		} {
			if !errors.Is(err, engine.ErrInvalid) {
				b.Errorf("%s: %v, want ErrInvalid", what, err)
			}
		}
		if _, err := s.ReleaseAsync(ctx, -1).Wait(ctx); !errors.Is(err, engine.ErrInvalid) {
			b.Errorf("ReleaseAsync(-1): %v, want ErrInvalid", err)
		}
		if _, err := s.TrySetPermits(ctx, -1); !errors.Is(err, engine.ErrInvalid) {
			b.Errorf("TrySetPermits(-1): %v, want ErrInvalid", err)
		}
		for _, ttl := range []time.Duration{0, -1, engine.MaxLease + 1} {
			if _, err := s.TrySetPermitsFor(ctx, 1, ttl); !errors.Is(err, engine.ErrInvalid) {
				b.Errorf("TrySetPermitsFor(%v): %v, want ErrInvalid", ttl, err)
			}
		}
	}))
	t.Run("none of nothing is granted at once", spec(engine.Options{}, func(b *bubble) {
		s := b.Semaphore("pool")
		b.redis.SetDown(true)
		b.wantNil("Acquire", s.Acquire(b.Context(), 0))
		b.wantNil("TryAcquire", s.TryAcquire(b.Context(), 0))
		b.wantNil("Release", s.Release(b.Context(), 0))
		b.redis.SetDown(false)
	}))
	t.Run("a key of another kind is ErrForeignKey, and stays", spec(engine.Options{}, func(b *bubble) {
		h := b.lock(b.Mutex("lock"))
		s := b.another(engine.Options{}).Semaphore("lock") // of one that does not know the name as a mutex
		b.wantIs("Context", s.Acquire(b.Context(), 1), engine.ErrForeignKey)
		b.wantIs("Context", s.Release(b.Context(), 1), engine.ErrForeignKey)
		b.wantIs("Context", s.AddPermits(b.Context(), 1), engine.ErrForeignKey)
		_, err := s.Available(b.Context())
		b.wantIs("the error", err, engine.ErrForeignKey)
		_, err = s.Delete(b.Context())
		b.wantIs("the error", err, engine.ErrForeignKey)
		b.unlock(h)
	}))
	t.Run("a live name of another kind is ErrInvalid", spec(engine.Options{}, func(b *bubble) {
		h := b.lock(b.Mutex("stock:7"))
		b.wantIs("Context", b.Semaphore("stock:7").Acquire(b.Context(), 1), engine.ErrInvalid)
		b.wantIs("Context", b.Semaphore("stock:7").Release(b.Context(), 1), engine.ErrInvalid)
		b.unlock(h)
	}))
}
