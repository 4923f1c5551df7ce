package enginetest_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/engine/enginetest"
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
			if err != nil {
				t.Fatal(err)
			}
			return m
		},
		"QuorumLock": func(t *testing.T, e *engine.Engine) engine.Locker {
			second, _ := enginetest.New(t, engine.Options{})
			third, down := enginetest.New(t, engine.Options{})
			q, err := engine.Quorum("stock:7", e, second, third)
			if err != nil {
				t.Fatal(err)
			}
			down.SetDown(true) // two of three will do
			return q
		},
	}
	for what, locker := range kinds {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e, _ := enginetest.New(t, engine.Options{})
				l := locker(t, e)
				h, err := l.Lock(t.Context())
				if err != nil {
					t.Fatalf("Lock: %v", err)
				}
				time.Sleep(5 * time.Minute)
				if err := h.Err(); err != nil {
					t.Errorf("Err after five minutes: %v", err)
				}
				if err := h.Unlock(t.Context()); err != nil {
					t.Errorf("Unlock: %v", err)
				}
				fixed, err := l.Lock(t.Context(), engine.WithLease(time.Minute))
				if err != nil {
					t.Fatalf("Lock with a fixed lease: %v", err)
				}
				time.Sleep(time.Minute)
				if err := fixed.Err(); !errors.Is(err, engine.ErrLost) {
					t.Errorf("Err after the lease: %v, want ErrLost", err)
				}
			})
		})
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
	same, err := s.Open(t.Context(), engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer same.Close()
	third, _ := enginetest.New(t, engine.Options{})
	if _, err := engine.Quorum("stock:7", e, same, third); !errors.Is(err, engine.ErrInvalid) {
		t.Errorf("Quorum with two engines on one server: %v, want ErrInvalid", err)
	}
}
