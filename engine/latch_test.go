package engine_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/futures"
)

func (b *bubble) count(l *engine.CountDownLatch, want int64) {
	b.Helper()
	if n, err := l.Count(b.Context()); n != want || err != nil {
		b.Errorf("Count = %d, %v, want %d", n, err, want)
	}
}

// setCount gives a latch its count.
func (b *bubble) setCount(l *engine.CountDownLatch, n int64) {
	b.Helper()
	if set, err := l.TrySetCount(b.Context(), n); !set || err != nil {
		b.Fatalf("TrySetCount = %t, %v", set, err)
	}
}

func TestLatchCount(t *testing.T) {
	t.Parallel()
	t.Run("is set once, until it is used up", spec(engine.Options{}, func(b *bubble) {
		l := b.CountDownLatch("start")
		b.count(l, 0)
		b.setCount(l, 2)
		if set, err := l.TrySetCount(b.Context(), 5); set || err != nil {
			b.Errorf("TrySetCount again = %t, %v, want false", set, err)
		}
		b.wantNil("CountDown", l.CountDown(b.Context()))
		b.count(l, 1)
		b.wantNil("CountDown", l.CountDown(b.Context()))
		b.count(l, 0)
		b.setCount(l, 5)
		b.count(l, 5)
	}))
	t.Run("does not go below 0", spec(engine.Options{}, func(b *bubble) {
		l := b.CountDownLatch("start")
		b.wantNil("CountDown", l.CountDown(b.Context()))
		b.count(l, 0)
		b.setCount(l, 1)
	}))
	t.Run("is deleted once", spec(engine.Options{}, func(b *bubble) {
		l := b.CountDownLatch("start")
		b.setCount(l, 2)
		for _, want := range []bool{true, false} {
			if deleted, err := l.Delete(b.Context()); deleted != want || err != nil {
				b.Errorf("Delete = %t, %v, want %t", deleted, err, want)
			}
		}
		b.count(l, 0)
	}))
	t.Run("of a key of another kind is ErrForeignKey", spec(engine.Options{}, func(b *bubble) {
		h := b.lock(b.Mutex("lock"))
		l := b.another(engine.Options{}).CountDownLatch("lock")
		b.wantIs("Wait", l.Wait(b.Context()), engine.ErrForeignKey)
		b.wantIs("CountDown", l.CountDown(b.Context()), engine.ErrForeignKey)
		_, err := l.Delete(b.Context())
		b.wantIs("Delete", err, engine.ErrForeignKey)
		_, err = l.Count(b.Context())
		b.wantIs("Count", err, engine.ErrForeignKey)
		b.unlock(h)
	}))
	t.Run("that cannot be is ErrInvalid", spec(engine.Options{}, func(b *bubble) {
		l := b.CountDownLatch("start")
		_, err := l.TrySetCount(b.Context(), -1)
		b.wantIs("TrySetCount(-1)", err, engine.ErrInvalid)
		b.wantIs("Wait with a lease", l.Wait(b.Context(), engine.WithLease(time.Second)), engine.ErrInvalid)
		b.wantIs("Wait with an owner", l.Wait(b.Context(), engine.WithOwner(engine.NewOwner())), engine.ErrInvalid)
		b.wantIs("no name", b.CountDownLatch("").CountDown(b.Context()), engine.ErrInvalid)
	}))
}

func TestLatchWait(t *testing.T) {
	t.Parallel()
	t.Run("returns at once when there is no latch", spec(engine.Options{}, func(b *bubble) {
		b.wantNil("Wait", b.CountDownLatch("start").Wait(b.Context()))
	}))
	t.Run("lets everybody through when the count is 0, in every process", spec(engine.Options{}, func(b *bubble) {
		other := b.another(engine.Options{})
		l := b.CountDownLatch("start")
		b.setCount(l, 2)
		var waiters []*futures.Future[struct{}]
		for range 5 {
			waiters = append(waiters, l.WaitAsync(b.Context()), other.CountDownLatch("start").WaitAsync(b.Context()))
		}
		b.wantNil("CountDown", l.CountDown(b.Context()))
		for _, f := range waiters {
			if settled(f) {
				b.Fatal("let through at 1")
			}
		}
		began := time.Now()
		b.wantNil("CountDown", other.CountDownLatch("start").CountDown(b.Context()))
		_, err := futures.All(waiters...).Wait(b.Context())
		b.wantNil("Wait", err)
		if took := time.Since(began); took > 0 {
			b.Errorf("let through after %v, want at once", took)
		}
	}))
	t.Run("lets those through who wait for a latch that is deleted", spec(engine.Options{}, func(b *bubble) {
		other := b.another(engine.Options{})
		l := b.CountDownLatch("start")
		b.setCount(l, 2)
		f := l.WaitAsync(b.Context())
		synctest.Wait()
		began := time.Now()
		other.CountDownLatch("start").Delete(b.Context())
		_, err := f.Wait(b.Context())
		b.wantNil("Wait", err)
		if took := time.Since(began); took > 0 {
			b.Errorf("let through after %v, want at once", took)
		}
	}))
	t.Run("looks by itself when no message came", spec(engine.Options{PollCap: time.Second}, func(b *bubble) {
		l := b.CountDownLatch("start")
		b.setCount(l, 1)
		f := l.WaitAsync(b.Context())
		synctest.Wait()
		b.redis.Lose("start")
		began := time.Now()
		if _, err := f.Wait(b.Context()); err != nil || time.Since(began) > time.Second {
			b.Errorf("Wait: %v after %v, want nil within PollCap, 1s", err, time.Since(began))
		}
	}))
	t.Run("looks again after a break of the connection", spec(engine.Options{PollCap: time.Hour}, func(b *bubble) {
		l := b.CountDownLatch("start")
		b.setCount(l, 1)
		f := l.WaitAsync(b.Context())
		synctest.Wait()
		b.redis.SetDown(true)
		b.redis.Lose("start")
		time.Sleep(time.Second)
		b.redis.SetDown(false)
		began := time.Now()
		if _, err := f.Wait(b.Context()); err != nil || time.Since(began) > 10*time.Second {
			b.Errorf("Wait: %v after %v, want nil soon after the break", err, time.Since(began))
		}
	}))
}
