package engine_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/futures"
)

func TestSpecAlive(t *testing.T) {
	t.Parallel()
	broken := errors.New("the pump stands still")
	t.Run("is asked every third of the lease", spec(engine.Options{}, func(b *bubble) {
		for _, l := range renewed(b) {
			var asked atomic.Int32
			h := b.lock(l, engine.WithAlive(func() error { asked.Add(1); return nil }))
			time.Sleep(95 * time.Second)
			if n := asked.Load(); n != 9 {
				b.Errorf("%s: asked %d times in 95 s, want 9", l.Name(), n)
			}
			b.wantHeld(h)
			b.unlock(h)
			time.Sleep(time.Minute)
			if n := asked.Load(); n != 9 {
				b.Errorf("%s: asked after Unlock", l.Name())
			}
		}
	}))
	ends := map[string]struct {
		check func() error
		after time.Duration
		is    error
		text  string
	}{
		"an error":     {func() error { return broken }, 10 * time.Second, broken, "the pump stands still"},
		"a panic":      {func() error { panic("leak") }, 10 * time.Second, nil, "leak"},
		"a Goexit":     {func() error { runtime.Goexit(); return nil }, 10 * time.Second, futures.ErrGoexit, "Goexit"},
		"no answer":    {func() error { time.Sleep(time.Minute); return broken }, 30 * time.Second, nil, "did not return"},
		"a bad error":  {func() error { return badError{} }, 10 * time.Second, badError{}, "PANIC"},
		"a late error": {func() error { time.Sleep(15 * time.Second); return broken }, 25 * time.Second, broken, "the pump"},
	}
	for name, end := range ends {
		t.Run(name+" ends the hold and frees the lock", spec(engine.Options{}, func(b *bubble) {
			for _, l := range renewed(b) {
				before := b.Stats().Lost
				var asked atomic.Int32
				began := time.Now()
				h := b.lock(l, engine.WithAlive(func() error { asked.Add(1); return end.check() }))
				inside := h.Context(context.Background())
				waiter := b.queue(l)
				<-h.Done()
				if took := time.Since(began).Round(time.Second / 10); took != end.after {
					b.Errorf("%s: it ended after %v, want %v", l.Name(), took, end.after)
				}
				err := h.Err()
				if !errors.Is(err, engine.ErrLost) || end.is != nil && !errors.Is(err, end.is) || !strings.Contains(err.Error(), end.text) || context.Cause(inside) != err {
					b.Errorf("%s: Err = %v", l.Name(), err)
				}
				b.wantIs("Unlock", h.Unlock(b.Context()), engine.ErrLost)
				b.unlock(waiter.granted())
				if n, lost := asked.Load(), b.Stats().Lost-before; n != 1 || lost != 1 {
					b.Errorf("%s: asked %d times, %d holds lost; want one each", l.Name(), n, lost)
				}
				time.Sleep(time.Minute) // until every check has returned
				if h.Err() != err {
					b.Errorf("%s: Err has changed to %v", l.Name(), h.Err())
				}
			}
		}))
	}
	t.Run("has two thirds of the lease to return, also if Redis is down meanwhile, and renewals fail", spec(engine.Options{}, func(b *bubble) {
		h := b.lock(b.Mutex("a"), engine.WithAlive(func() error { time.Sleep(18 * time.Second); return nil }))
		time.Sleep(11 * time.Second)
		b.redis.SetDown(true)
		time.Sleep(16 * time.Second)
		b.redis.SetDown(false)
		time.Sleep(2 * time.Second)
		b.wantHeld(h)
	}))
	t.Run("delays nobody", spec(engine.Options{Callbacks: 1}, func(b *bubble) {
		release := make(chan struct{})
		for range 10 {
			b.lock(b.RWMutex("a").Reader(), engine.WithAlive(func() error { <-release; return nil }))
		}
		well := b.lock(b.RWMutex("a").Reader())
		time.Sleep(manyLeases)
		b.wantHeld(well)
		if held := b.Stats().Held; held != 1 {
			b.Errorf("%d are held, want the one that is alive", held)
		}
		close(release)
	}))
	t.Run("ends one of the holds of an Owner", spec(engine.Options{}, func(b *bubble) {
		me := engine.WithOwner(engine.NewOwner())
		outer := b.lock(b.Mutex("a"), me)
		inner := b.lock(b.Mutex("a"), me, engine.WithAlive(func() error { return broken }))
		<-inner.Done()
		b.wantHeld(outer)
		time.Sleep(manyLeases)
		b.wantHeld(outer)
	}))
	t.Run("is invalid where nothing is renewed", specClean(engine.Options{}, func(b *bubble) {
		well := func() error { return nil }
		for _, opts := range [][]engine.LockOption{{engine.WithAlive(nil)}, {engine.WithAlive(well), engine.WithLease(time.Second)}} {
			for _, l := range renewed(b) {
				_, err := l.TryLock(b.Context(), opts...)
				b.wantIs(l.Name(), err, engine.ErrInvalid)
			}
		}
		b.wantIs("a semaphore", b.Semaphore("s").Acquire(b.Context(), 1, engine.WithAlive(well)), engine.ErrInvalid)
	}))
}

// renewed are locks of every sort that is renewed.
func renewed(b *bubble) []engine.Locker {
	all, err := b.All("f", "g")
	quorum, err2 := engine.Quorum("h", b.Engine)
	b.wantNil("All, Quorum", errors.Join(err, err2))
	return []engine.Locker{b.Mutex("a"), b.SimpleMutex("b"), b.FairMutex("c"), b.RWMutex("d").Writer(), b.Limit("e", 1), all, quorum}
}

// badError panics when it is read.
type badError struct{}

func (badError) Error() string { panic("unreadable") }
