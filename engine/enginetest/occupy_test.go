package enginetest_test

import (
	"errors"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/engine/enginetest"
	"github.com/wheellock/wheellock/internal/testkit"
)

func TestServerOccupy(t *testing.T) {
	occupy := func(t *testing.T, s *enginetest.Server, lease time.Duration) (vacate func()) {
		t.Helper()
		vacate, err := s.Occupy("stock:7", lease)
		if err != nil {
			t.Fatalf("Occupy: %v", err)
		}
		return vacate
	}
	t.Run("excludes until it is vacated", inBubble(func(t *testing.T, e *engine.Engine, s *enginetest.Server) {
		vacate := occupy(t, s, time.Minute)
		_, err := e.Mutex("stock:7").TryLock(t.Context())
		var held *engine.HeldError
		if !errors.As(err, &held) || held.TTL != time.Minute {
			t.Errorf("TryLock: %v, want ErrHeld for a minute", err)
		}
		waits := e.Mutex("stock:7").LockAsync(t.Context())
		time.Sleep(100 * time.Millisecond)
		before := time.Now()
		vacate()
		if _, err := waits.Wait(t.Context()); err != nil || time.Since(before) != 0 {
			t.Errorf("Lock: %v, %v after it was vacated; want it at once", err, time.Since(before))
		}
		vacate()
		wantKeys(t, s, "stock:7")
	}))
	t.Run("ends with its lease", inBubble(func(t *testing.T, e *engine.Engine, s *enginetest.Server) {
		vacate := occupy(t, s, 5*time.Second)
		before := time.Now()
		lock(t, e, "stock:7")
		if took := time.Since(before); took < 5*time.Second || took > 5100*time.Millisecond {
			t.Errorf("Lock took %v, want the lease of 5s", took)
		}
		vacate()
		wantKeys(t, s, "stock:7")
	}))
	t.Run("is the owner that others see", func(t *testing.T) {
		e, s := enginetest.New(t, engine.Options{})
		occupy(t, s, time.Minute)
		if state, err := e.Mutex("stock:7").Inspect(t.Context()); err != nil || state.Owner == "" || state.Ours {
			t.Errorf("state = %+v, %v; want an owner who is not us", state, err)
		}
		testkit.WantIs(t, "TryLock as a fenced mutex", testkit.ResultOf(e.FencedMutex("stock:7").TryLock(t.Context())), engine.ErrHeld)
	})
	t.Run("is lost like any lock", func(t *testing.T) {
		e, s := enginetest.New(t, engine.Options{})
		occupy(t, s, time.Minute)
		s.Lose("stock:7")
		lock(t, e, "stock:7")
	})
	t.Run("takes what is free alone", func(t *testing.T) {
		e, s := enginetest.New(t, engine.Options{})
		lock(t, e, "stock:7")
		if vacate, err := s.Occupy("stock:7", time.Minute); vacate != nil || !errors.Is(err, engine.ErrHeld) {
			t.Errorf("Occupy of a held name: %v, want ErrHeld", err)
		}
		testkit.WantIs(t, "Occupy of no name", testkit.ResultOf(s.Occupy("", time.Minute)), engine.ErrInvalid)
		testkit.WantIs(t, "Occupy for no time", testkit.ResultOf(s.Occupy("stock:8", 0)), engine.ErrInvalid)
	})
	t.Run("is not what a failure is for", func(t *testing.T) {
		_, s := enginetest.New(t, engine.Options{})
		s.FailNext("stock:7", enginetest.OutOfMemory)
		occupy(t, s, time.Minute)
		wantKeys(t, s, "stock:7")
	})
}
