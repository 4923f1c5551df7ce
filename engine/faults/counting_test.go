package faults_test

import (
	"errors"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/internal/virtual"
	"github.com/wheellock/wheellock/scripts"
)

// invariant: change-has-one-effect
func TestFaultEveryCallCountsOnce(t *testing.T) {
	t.Parallel()
	virtual.Test(t, func(w *virtual.World) {
		e, link := w.Connect()
		s, l := e.Semaphore("pool"), e.CountDownLatch("start")
		lost := 0
		lose := func(script scripts.Script) {
			link.Down.Swallow(1, virtual.Runs(script))
			lost++
		}
		lose(scripts.SetPermits)
		if set, err := s.TrySetPermits(testkit.Soon(w.T), 10); !set || err != nil {
			w.T.Errorf("TrySetPermits = %t, %v, want true", set, err)
		}
		lose(scripts.Give)
		check(w.T, "Release", s.Release(testkit.Soon(w.T), 5))
		lose(scripts.AddPermits)
		check(w.T, "AddPermits", s.AddPermits(testkit.Soon(w.T), -3))
		lose(scripts.Take)
		check(w.T, "Acquire", s.Acquire(testkit.Soon(w.T), 2))
		if n, err := s.Available(testkit.Soon(w.T)); n != 10 || err != nil {
			w.T.Errorf("Available = %d, %v, want 10 + 5 - 3 - 2", n, err)
		}
		lose(scripts.DrainPermits)
		if n, err := s.Drain(testkit.Soon(w.T)); n != 10 || err != nil {
			w.T.Errorf("Drain = %d, %v, want 10", n, err)
		}
		lose(scripts.DeletePermits)
		if deleted, err := s.Delete(testkit.Soon(w.T)); !deleted || err != nil {
			w.T.Errorf("Delete = %t, %v, want true", deleted, err)
		}
		lose(scripts.SetPermits)
		if set, err := s.TrySetPermitsFor(testkit.Soon(w.T), 4, 50*time.Second); !set || err != nil {
			w.T.Errorf("TrySetPermitsFor = %t, %v, want true", set, err)
		}
		p := e.PermitSemaphore("desks")
		lose(scripts.PermitSet)
		check(w.T, "SetPermits", p.SetPermits(testkit.Soon(w.T), 4))
		if n, err := p.Available(testkit.Soon(w.T)); n != 4 || err != nil {
			w.T.Errorf("Available = %d, %v, want 4", n, err)
		}
		lose(scripts.PermitDelete)
		if deleted, err := p.Delete(testkit.Soon(w.T)); !deleted || err != nil {
			w.T.Errorf("Delete = %t, %v, want true", deleted, err)
		}
		lose(scripts.SetCount)
		if set, err := l.TrySetCount(testkit.Soon(w.T), 2); !set || err != nil {
			w.T.Errorf("TrySetCount = %t, %v, want true", set, err)
		}
		lose(scripts.CountDown)
		check(w.T, "CountDown", l.CountDown(testkit.Soon(w.T)))
		if n, err := l.Count(testkit.Soon(w.T)); n != 1 || err != nil {
			w.T.Errorf("Count = %d, %v, want 1", n, err)
		}
		lose(scripts.DeleteCount)
		if deleted, err := l.Delete(testkit.Soon(w.T)); !deleted || err != nil {
			w.T.Errorf("Delete = %t, %v, want true", deleted, err)
		}
		if n := e.Stats().Uncertain; n != int64(lost) {
			w.T.Errorf("%d answers were lost, want %d", n, lost)
		}
		for _, key := range w.Server.Keys() {
			if ttl := w.Server.Do("PTTL", key).Int; ttl <= 0 || ttl > 60_000 {
				w.T.Errorf("%s is left behind for %d ms", key, ttl)
			}
		}
	})
}

func check(t *testing.T, what string, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("%s: %v", what, err)
	}
}

// A server at maxmemory refuses nothing that gives back.
func TestFaultReleaseAtMaxmemory(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	e := testkit.Connect(t, server.Addr())
	s, l := e.Semaphore("pool"), e.CountDownLatch("start")
	server.MustDo("SET", "pool", "1")
	server.MustDo("SET", "start", "2")
	check(t, "Acquire", s.Acquire(testkit.Soon(t), 1))
	server.MustDo("CONFIG", "SET", "maxmemory", "1")
	check(t, "Release", s.Release(testkit.Soon(t), 1))
	check(t, "CountDown", l.CountDown(testkit.Soon(t)))
	if err := s.TryAcquire(testkit.Soon(t), 1); !errors.Is(err, engine.ErrRefused) {
		t.Errorf("TryAcquire at maxmemory: %v, want ErrRefused", err)
	} else {
		testkit.Mentions(t, err, "OOM")
	}
	server.MustDo("CONFIG", "SET", "maxmemory", "0")
	if pool, start := server.MustDo("GET", "pool").Text, server.MustDo("GET", "start").Text; pool != "1" || start != "1" {
		t.Errorf("pool = %s, start = %s, want 1, 1", pool, start)
	}
}
