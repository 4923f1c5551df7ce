package enginetest_test

import (
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/engine/enginetest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// Every kind of lock has scripts of its own: here it is seen that the double runs them.
func TestEveryKindWorks(t *testing.T) {
	kinds := map[string]func(t *testing.T, e *engine.Engine) engine.Locker{
		"Mutex":       func(t *testing.T, e *engine.Engine) engine.Locker { return e.Mutex("stock:7") },
		"FencedMutex": func(t *testing.T, e *engine.Engine) engine.Locker { return e.FencedMutex("stock:7") },
		"SpinMutex":   func(t *testing.T, e *engine.Engine) engine.Locker { return e.SpinMutex("stock:7") },
		"SimpleMutex": func(t *testing.T, e *engine.Engine) engine.Locker { return e.SimpleMutex("stock:7") },
		"Reader":      func(t *testing.T, e *engine.Engine) engine.Locker { return e.RWMutex("stock:7").Reader() },
		"Writer":      func(t *testing.T, e *engine.Engine) engine.Locker { return e.RWMutex("stock:7").Writer() },
		"MultiLock": func(t *testing.T, e *engine.Engine) engine.Locker {
			m, err := engine.Multi(e.Mutex("stock:7"), e.FencedMutex("stock:8"))
			testkit.Must(t, err)
			return m
		},
		"QuorumLock": func(t *testing.T, e *engine.Engine) engine.Locker {
			second, _ := enginetest.New(t, engine.Options{})
			third, down := enginetest.New(t, engine.Options{})
			q, err := engine.Quorum("stock:7", e, second, third)
			testkit.Must(t, err)
			down.SetDown(true) // two of three will do
			return q
		},
	}
	for what, locker := range kinds {
		t.Run(what, inBubble(func(t *testing.T, e *engine.Engine, _ *enginetest.Server) {
			l := locker(t, e)
			h, err := l.Lock(t.Context())
			if err != nil {
				t.Fatalf("Lock: %v", err)
			}
			time.Sleep(5 * time.Minute)
			if err := h.Err(); err != nil {
				t.Errorf("Err after five minutes: %v", err)
			}
			unlock(t, h)
			fixed, err := l.Lock(t.Context(), engine.WithLease(time.Minute))
			if err != nil {
				t.Fatalf("Lock with a fixed lease: %v", err)
			}
			time.Sleep(time.Minute)
			testkit.WantIs(t, "Err after the lease", fixed.Err(), engine.ErrLost)
		}))
	}
	t.Run("Semaphore", func(t *testing.T) {
		e, _ := enginetest.New(t, engine.Options{})
		s := e.Semaphore("slots")
		if set, err := s.TrySetPermits(t.Context(), 2); !set || err != nil {
			t.Fatalf("TrySetPermits = %t, %v", set, err)
		}
		if err := s.Acquire(t.Context(), 2); err != nil {
			t.Errorf("Acquire: %v", err)
		}
		waits := s.AcquireAsync(t.Context(), 1)
		if err := s.Release(t.Context(), 1); err != nil {
			t.Errorf("Release: %v", err)
		}
		if _, err := waits.Wait(t.Context()); err != nil {
			t.Errorf("Acquire of what was released: %v", err)
		}
	})
	t.Run("CountDownLatch", func(t *testing.T) {
		e, _ := enginetest.New(t, engine.Options{})
		l := e.CountDownLatch("parts")
		if set, err := l.TrySetCount(t.Context(), 1); !set || err != nil {
			t.Fatalf("TrySetCount = %t, %v", set, err)
		}
		waits := l.WaitAsync(t.Context())
		if err := l.CountDown(t.Context()); err != nil {
			t.Errorf("CountDown: %v", err)
		}
		if _, err := waits.Wait(t.Context()); err != nil {
			t.Errorf("Wait: %v", err)
		}
	})
}

func TestServersAreToldApart(t *testing.T) {
	e, s := enginetest.New(t, engine.Options{})
	same := another(t, s, engine.Options{})
	third, _ := enginetest.New(t, engine.Options{})
	testkit.WantIs(t, "Quorum with two engines on one server", testkit.ResultOf(engine.Quorum("stock:7", e, same, third)), engine.ErrInvalid)
}
