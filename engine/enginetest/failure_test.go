package enginetest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/engine/enginetest"
	"github.com/wheellock/wheellock/futures"
	"github.com/wheellock/wheellock/internal/testkit"
)

func TestServerFailNext(t *testing.T) {
	for failure, want := range map[enginetest.CallFailure]struct {
		tryLock error
		words   string
	}{
		enginetest.OutOfMemory:  {engine.ErrRefused, "OOM"},
		enginetest.NoPermission: {engine.ErrRefused, "NOPERM No permissions to access a key"},
		enginetest.LostAnswer:   {engine.ErrUncertain, ""},
	} {
		t.Run(failure.String()+" fails one TryLock, of this name", inBubble(func(t *testing.T, e *engine.Engine, s *enginetest.Server) {
			s.FailNext("stock:7", failure)
			lock(t, e, "stock:77").Unlock(t.Context())
			_, err := e.Mutex("stock:7").TryLock(t.Context())
			if !errors.Is(err, want.tryLock) || !strings.Contains(err.Error(), want.words) {
				t.Errorf("TryLock: %v, want %v with %q", err, want.tryLock, want.words)
			}
			h := lock(t, e, "stock:7")
			unlock(t, h)
			wantKeys(t, s)
		}))
	}
	t.Run("OOM and a lost answer are outlasted by Lock", inBubble(func(t *testing.T, e *engine.Engine, s *enginetest.Server) {
		for range 3 {
			s.FailNext("stock:7", enginetest.OutOfMemory)
			s.FailNext("stock:7", enginetest.LostAnswer)
		}
		h := lock(t, e, "stock:7")
		if got := e.Stats(); got.Attempts < 4 || got.Uncertain != 3 {
			t.Errorf("%d attempts, %d uncertain; want over 3, and 3", got.Attempts, got.Uncertain)
		}
		h.Unlock(t.Context())
	}))
	t.Run("NOPERM ends a Lock", func(t *testing.T) {
		e, s := enginetest.New(t, engine.Options{})
		s.FailNext("stock:7", enginetest.NoPermission)
		testkit.WantIs(t, "Lock", testkit.ResultOf(e.Mutex("stock:7").Lock(t.Context())), engine.ErrRefused)
	})
	t.Run("NOPERM fails this name alone, also among others", inBubble(func(t *testing.T, e *engine.Engine, s *enginetest.Server) {
		s.FailNext("stock:40", enginetest.NoPermission)
		var tries []*futures.Future[*engine.Hold]
		for i := range 64 { // most of them leave in one call
			tries = append(tries, e.Mutex(fmt.Sprint("stock:", i)).TryLockAsync(t.Context()))
		}
		for i, try := range tries {
			if _, err := try.Wait(t.Context()); errors.Is(err, engine.ErrRefused) != (i == 40) {
				t.Errorf("stock:%d: %v", i, err)
			}
		}
	}))
	t.Run("a renewal and a release that fail are repeated", func(t *testing.T) {
		for _, failure := range []enginetest.CallFailure{enginetest.NoPermission, enginetest.LostAnswer} {
			synctest.Test(t, func(t *testing.T) {
				e, s := enginetest.New(t, engine.Options{})
				h := lock(t, e, "stock:7")
				s.FailNext("stock:7", failure)
				time.Sleep(time.Minute)
				if err := h.Err(); err != nil {
					t.Errorf("%v: Err after a minute: %v", failure, err)
				}
				s.FailNext("stock:7", failure)
				h.UnlockAsync()
				time.Sleep(time.Minute)
				wantKeys(t, s)
			})
		}
	})
	t.Run("OOM lets renewals and releases pass, and waits for a lock", inBubble(func(t *testing.T, e *engine.Engine, s *enginetest.Server) {
		h := lock(t, e, "stock:7")
		s.FailNext("stock:7", enginetest.OutOfMemory)
		time.Sleep(time.Minute)
		unlock(t, h)
		testkit.WantIs(t, "TryLock", testkit.ResultOf(e.Mutex("stock:7").TryLock(t.Context())), engine.ErrRefused)
	}))
	t.Run("of no such kind panics", func(t *testing.T) {
		_, s := enginetest.New(t, engine.Options{})
		for method, fail := range map[string]func(){
			"FailNext":        func() { s.FailNext("stock:7", 0) },
			"FailNextRenewal": func() { s.FailNextRenewal("stock:7", enginetest.OutOfMemory) },
			"FailNextUnlock":  func() { s.FailNextUnlock("stock:7", enginetest.OutOfMemory) },
		} {
			func() {
				defer func() {
					if said, _ := recover().(string); !strings.Contains(said, method+"(") || !strings.Contains(said, "there is no such failure") {
						t.Errorf("%s said %q", method, said)
					}
				}()
				fail()
			}()
		}
	})
}

// kinds are all kinds of locks.
var kinds = map[string]func(*engine.Engine) engine.Locker{
	"Mutex":       func(e *engine.Engine) engine.Locker { return e.Mutex("stock:7") },
	"FairMutex":   func(e *engine.Engine) engine.Locker { return e.FairMutex("stock:7") },
	"FencedMutex": func(e *engine.Engine) engine.Locker { return e.FencedMutex("stock:7") },
	"SpinMutex":   func(e *engine.Engine) engine.Locker { return e.SpinMutex("stock:7") },
	"SimpleMutex": func(e *engine.Engine) engine.Locker { return e.SimpleMutex("stock:7") },
	"Reader":      func(e *engine.Engine) engine.Locker { return e.RWMutex("stock:7").Reader() },
	"Writer":      func(e *engine.Engine) engine.Locker { return e.RWMutex("stock:7").Writer() },
}

// The failures of a renewal and of an unlock leave every other call alone, come in whatever order they were asked for, and are
// outlasted.
func TestServerFailNextOfAnOperation(t *testing.T) {
	for what, locker := range kinds {
		t.Run(what, func(t *testing.T) {
			failRenewalAndUnlock(t, func(ctx context.Context, e *engine.Engine) (*engine.Hold, error) { return locker(e).Lock(ctx) })
		})
	}
	t.Run("PermitSemaphore", func(t *testing.T) {
		failRenewalAndUnlock(t, func(ctx context.Context, e *engine.Engine) (*engine.Hold, error) {
			if _, err := e.PermitSemaphore("stock:7").TrySetPermits(ctx, 1); err != nil {
				return nil, err
			}
			return e.PermitSemaphore("stock:7").Acquire(ctx, 1)
		})
	})
}

func failRenewalAndUnlock(t *testing.T, lock func(context.Context, *engine.Engine) (*engine.Hold, error)) {
	for _, failure := range []enginetest.CallFailure{enginetest.NoPermission, enginetest.LostAnswer} {
		synctest.Test(t, func(t *testing.T) {
			e, s := enginetest.New(t, engine.Options{})
			wantLost := func(when string, want int64) {
				t.Helper()
				if got := e.Stats().Uncertain; failure == enginetest.LostAnswer && got != want {
					t.Errorf("%s: %d answers were lost, want %d", when, got, want)
				}
			}
			s.FailNextUnlock("stock:7", failure)
			s.FailNextRenewal("stock:7", failure)
			h, err := lock(t.Context(), e)
			if err != nil {
				t.Fatalf("%v: %v", failure, err)
			}
			wantLost("locked", 0)
			time.Sleep(time.Minute)
			wantLost("renewed", 1)
			if err := h.Err(); err != nil {
				t.Errorf("%v: Err after a minute: %v", failure, err)
			}
			before := time.Now()
			err = h.Unlock(t.Context())
			wantLost("unlocked", 2)
			if failed := time.Since(before) > 0 || err != nil; failure == enginetest.NoPermission && !failed {
				t.Errorf("the unlock was not refused")
			}
			time.Sleep(time.Minute)
			if again, err := lock(t.Context(), e); err != nil {
				t.Errorf("%v: Lock after the unlock: %v", failure, err)
			} else {
				again.Unlock(t.Context())
			}
		})
	}
}

// Every kind of lock outlasts a lost answer and a Redis that is out of memory.
func TestFailuresOfEveryKind(t *testing.T) {
	for what, locker := range kinds {
		t.Run(what, inBubble(func(t *testing.T, e *engine.Engine, s *enginetest.Server) {
			l := locker(e)
			for _, failure := range []enginetest.CallFailure{enginetest.OutOfMemory, enginetest.LostAnswer} {
				s.FailNext("stock:7", failure)
				before := time.Now()
				h, err := l.Lock(t.Context())
				if err != nil {
					t.Fatalf("%v: Lock: %v", failure, err)
				}
				if failure == enginetest.OutOfMemory && time.Since(before) == 0 { // it rests before it asks again
					t.Errorf("%v: Lock was not refused", failure)
				}
				if failure == enginetest.LostAnswer && e.Stats().Uncertain != 1 {
					t.Errorf("%v: %d answers were lost", failure, e.Stats().Uncertain)
				}
				if err := h.Unlock(t.Context()); err != nil {
					t.Errorf("%v: Unlock: %v", failure, err)
				}
			}
		}))
	}
}
