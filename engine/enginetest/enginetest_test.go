package enginetest_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/engine/enginetest"
	"github.com/wheellock/wheellock/internal/testkit"
)

func lock(t *testing.T, e *engine.Engine, name string, opts ...engine.LockOption) *engine.Hold {
	t.Helper()
	h, err := e.Mutex(name).Lock(t.Context(), opts...)
	if err != nil {
		t.Fatalf("Lock: %v", err)
	}
	return h
}

func unlock(t *testing.T, h *engine.Hold) {
	t.Helper()
	if err := h.Unlock(t.Context()); err != nil {
		t.Errorf("Unlock: %v", err)
	}
}

// another opens another engine on a server, until the end of the test.
func another(t *testing.T, s *enginetest.Server, opts engine.Options) *engine.Engine {
	t.Helper()
	e, err := s.Open(t.Context(), opts)
	testkit.Must(t, err)
	t.Cleanup(func() { e.Close() })
	return e
}

// inBubble makes a test that runs in a bubble, with an engine on a server of its own.
func inBubble(test func(t *testing.T, e *engine.Engine, s *enginetest.Server)) func(*testing.T) {
	return func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			e, s := enginetest.New(t, engine.Options{})
			test(t, e, s)
		})
	}
}

func wantKeys(t *testing.T, s *enginetest.Server, want ...string) {
	t.Helper()
	if got := s.Keys(); !slices.Equal(got, want) {
		t.Errorf("keys = %q, want %q", got, want)
	}
}

// logged is a test whose log is kept.
type logged struct {
	testing.TB
	lines chan string
}

func (l logged) Logf(format string, args ...any) { l.lines <- fmt.Sprintf(format, args...) }

func TestAForgottenHoldIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := logged{t, make(chan string, 1)}
		e, _ := enginetest.New(l, engine.Options{})
		lock(t, e, "stock:7")
		for len(l.lines) == 0 {
			runtime.GC()
			time.Sleep(10 * time.Second) // a third of the lease
			synctest.Wait()
		}
		if line := <-l.lines; !strings.Contains(line, `the mutex "stock:7" was forgotten`) || !strings.Contains(line, "enginetest_test.go:") {
			t.Error(line)
		}
	})
}

func TestNew(t *testing.T) {
	locksAndUnlocks := func(t *testing.T) {
		e, s := enginetest.New(t, engine.Options{})
		h := lock(t, e, "stock:7")
		wantKeys(t, s, "stock:7")
		unlock(t, h)
		wantKeys(t, s)
	}
	t.Run("outside of a bubble", locksAndUnlocks)
	t.Run("inside of a bubble", func(t *testing.T) { synctest.Test(t, locksAndUnlocks) })

	t.Run("closes the engine, then the server, when the test ends", func(t *testing.T) {
		var e *engine.Engine
		var h *engine.Hold
		t.Run("test", func(t *testing.T) {
			e, _ = enginetest.New(t, engine.Options{})
			h = lock(t, e, "stock:7")
		})
		if err := h.Err(); !errors.Is(err, engine.ErrClosed) {
			t.Errorf("a hold that was left has Err %v, want ErrClosed", err)
		}
		testkit.WantIs(t, "Lock afterwards", testkit.ResultOf(e.Mutex("stock:7").Lock(t.Context())), engine.ErrClosed)
	})
	t.Run("goes on when the test has closed the engine itself", func(t *testing.T) {
		e, s := enginetest.New(t, engine.Options{})
		lock(t, e, "stock:7")
		if err := e.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		wantKeys(t, s)
	})
}

func TestOptions(t *testing.T) {
	t.Run("are honoured", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			e, s := enginetest.New(t, engine.Options{
				Lease: 9 * time.Second, MaxHold: 20 * time.Second, NameMapper: func(name string) string { return "shop:" + name },
			})
			h := lock(t, e, "stock:7")
			wantKeys(t, s, "shop:stock:7")
			if left := time.Until(h.Deadline()); left > 9*time.Second || left < 8*time.Second {
				t.Errorf("the deadline is %v away, want a little less than 9s", left)
			}
			time.Sleep(20 * time.Second)
			synctest.Wait()
			testkit.WantIs(t, "after MaxHold Err", h.Err(), engine.ErrMaxHold)
		})
	})
	t.Run("about replicas are honoured", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			lone, s := enginetest.New(t, engine.Options{Replicas: engine.AllReplicas})
			lock(t, lone, "stock:7")
			demanding := another(t, s, engine.Options{Replicas: 1})
			testkit.WantIs(t, "TryLock without a replica", testkit.ResultOf(demanding.Mutex("stock:8").TryLock(t.Context())), engine.ErrNotReplicated)
		})
	})
	t.Run("about the connection are replaced", func(t *testing.T) {
		e, _ := enginetest.New(t, engine.Options{
			PubSub: engine.PubSubSharded,
			Redis:  rueidis.ClientOption{InitAddress: []string{"redis.invalid:6379"}, Password: "secret", SelectDB: 3, ShuffleInit: true},
		})
		h := lock(t, e, "stock:7")
		next := e.Mutex("stock:7").LockAsync(t.Context(), engine.WithLease(time.Minute)) // which has to listen
		h.Unlock(t.Context())
		if _, err := next.Wait(t.Context()); err != nil {
			t.Errorf("Lock of a held name: %v", err)
		}
	})
	t.Run("that are wrong are told", func(t *testing.T) {
		s := enginetest.Start()
		defer s.Close()
		if e, err := s.Open(t.Context(), engine.Options{Lease: -1}); e != nil || !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("Open = %v, %v; want ErrInvalid", e, err)
		}
	})
}

func TestLeasesRunOnTheClockOfTheBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, s := enginetest.New(t, engine.Options{})
		lock(t, e, "fixed", engine.WithLease(time.Minute))
		lock(t, e, "watched")
		e.Close() // its keys are freed
		wantKeys(t, s)

		other := another(t, s, engine.Options{})
		lock(t, other, "fixed", engine.WithLease(time.Minute))
		s.SetDown(true) // so that nobody frees it before its time
		other.Close()
		time.Sleep(time.Minute - time.Millisecond)
		wantKeys(t, s, "fixed")
		time.Sleep(time.Millisecond)
		wantKeys(t, s)
	})
}

func TestServerOpen(t *testing.T) {
	t.Run("is another process on the same server", func(t *testing.T) {
		e, s := enginetest.New(t, engine.Options{})
		other := another(t, s, engine.Options{})
		h := lock(t, e, "stock:7")
		testkit.WantIs(t, "TryLock of the other", testkit.ResultOf(other.Mutex("stock:7").TryLock(t.Context())), engine.ErrHeld)
		waits := other.Mutex("stock:7").LockAsync(t.Context())
		h.Unlock(t.Context())
		theirs, err := waits.Wait(t.Context())
		if err != nil {
			t.Fatalf("Lock of the other: %v", err)
		}
		if state, err := e.Mutex("stock:7").Inspect(t.Context()); err != nil || state.Ours || state.Owner != theirs.TenureID() {
			t.Errorf("state = %+v, %v; want the other's", state, err)
		}
	})
}

func TestServerLose(t *testing.T) {
	lose := func(opts engine.Options, told time.Duration) func(*testing.T) {
		return func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e, s := enginetest.New(t, opts)
				h := lock(t, e, "stock:7")
				kept := lock(t, e, "stock:8")
				time.Sleep(time.Second)
				s.Lose("stock:7")
				s.Lose("of nobody")
				wantKeys(t, s, "stock:8")
				lost := time.Now()
				<-h.Done()
				if took := time.Since(lost); took > told {
					t.Errorf("told after %v, want at most %v", took, told)
				}
				testkit.WantIs(t, "Err", h.Err(), engine.ErrLost)
				if err := kept.Err(); err != nil {
					t.Errorf("Err of another hold = %v", err)
				}
			})
		}
	}
	t.Run("is found out by the next renewal", lose(engine.Options{}, 10*time.Second))
	t.Run("is found out at once with WatchLoss", lose(engine.Options{WatchLoss: true}, 0))
	t.Run("takes permits by the key that they are in", inBubble(func(t *testing.T, e *engine.Engine, s *enginetest.Server) {
		permits := e.PermitSemaphore("seats")
		testkit.Must(t, testkit.ResultOf(permits.TrySetPermits(t.Context(), 1)))
		h, err := permits.Acquire(t.Context(), 1)
		testkit.Must(t, err)
		s.Lose("{seats}:timeout")
		if <-h.Done(); !errors.Is(h.Err(), engine.ErrLost) {
			t.Errorf("Err = %v, want ErrLost", h.Err())
		}
	}))
	t.Run("frees the lock for others", func(t *testing.T) {
		e, s := enginetest.New(t, engine.Options{})
		lock(t, e, "stock:7")
		other := another(t, s, engine.Options{})
		s.Lose("stock:7")
		lock(t, other, "stock:7")
	})
	t.Run("works while the server is down", func(t *testing.T) {
		e, s := enginetest.New(t, engine.Options{})
		lock(t, e, "stock:7")
		s.SetDown(true)
		s.Lose("stock:7")
		wantKeys(t, s)
		s.SetDown(false)
	})
}

func TestServerSetDown(t *testing.T) {
	t.Run("cuts connections, and refuses new ones until it is up", inBubble(func(t *testing.T, e *engine.Engine, s *enginetest.Server) {
		h := lock(t, e, "stock:7")
		s.SetDown(true)
		e.Mutex("stock:8").TryLock(t.Context()) // finds out
		time.Sleep(time.Second)
		testkit.WantIs(t, "TryLock while down", testkit.ResultOf(e.Mutex("stock:8").TryLock(t.Context())), engine.ErrNotSent)
		testkit.WantIs(t, "Open while down", testkit.ResultOf(s.Open(t.Context(), engine.Options{})), engine.ErrNotSent)
		wantKeys(t, s, "stock:7")
		s.SetDown(false)
		lock(t, e, "stock:8")
		if err := h.Unlock(t.Context()); err != nil {
			t.Errorf("Unlock of what was held before: %v", err)
		}
		wantKeys(t, s, "stock:8")
	}))
	t.Run("may be repeated", func(t *testing.T) {
		e, s := enginetest.New(t, engine.Options{})
		s.SetDown(false)
		s.SetDown(true)
		s.SetDown(true)
		s.SetDown(false)
		lock(t, e, "stock:7")
	})
	t.Run("lets the test end", inBubble(func(t *testing.T, e *engine.Engine, s *enginetest.Server) {
		lock(t, e, "stock:7")
		e.Mutex("stock:7").LockAsync(context.Background())
		s.SetDown(true)
	}))
}
