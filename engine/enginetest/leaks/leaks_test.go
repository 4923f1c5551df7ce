// Package leaks_test is a user's test package that looks for goroutines left behind, without any exception.
package leaks_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/engine/enginetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// use does a bit of everything with an engine.
func use(t *testing.T, e *engine.Engine) {
	h, err := e.Mutex("stock:7").Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	waits := e.Mutex("stock:7").LockAsync(t.Context(), engine.WithWait(time.Second))
	called := make(chan struct{})
	waits.Then(func(h *engine.Hold, err error) {
		if err == nil {
			h.UnlockAsync()
		}
		close(called)
	})
	if ctx := h.Context(t.Context()); ctx.Err() != nil {
		t.Error(ctx.Err())
	}
	if err := h.Unlock(t.Context()); err != nil {
		t.Error(err)
	}
	<-called
	if err := e.Semaphore("tickets").TryAcquire(t.Context(), 1); err == nil {
		t.Error("a permit of a semaphore that has none")
	}
}

func TestNothingIsLeftWhenNewCloses(t *testing.T) {
	e, _ := enginetest.New(t, engine.Options{})
	use(t, e)
}

func TestNothingIsLeftAfterCloseOfEngineAndServer(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	s := enginetest.Start()
	for range 3 {
		e, err := s.Open(t.Context(), engine.Options{})
		if err != nil {
			t.Fatal(err)
		}
		use(t, e)
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
	s.Close()
}

func TestNothingIsLeftAfterAnOutage(t *testing.T) {
	e, s := enginetest.New(t, engine.Options{})
	use(t, e)
	s.SetDown(true)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := e.Mutex("stock:8").Lock(ctx); err == nil {
		t.Error("Lock of a server that is down")
	}
}

func TestNothingIsLeftInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, _ := enginetest.New(t, engine.Options{})
		use(t, e)
	})
}

func TestNothingIsLeftOfFailures(t *testing.T) {
	e, s := enginetest.New(t, engine.Options{})
	s.FailNext("stock:7", enginetest.OutOfMemory)
	s.FailNext("stock:7", enginetest.LostAnswer)
	use(t, e)
	if _, err := s.Occupy("stock:8", time.Minute); err != nil {
		t.Fatal(err)
	}
	waits := e.Mutex("stock:8").LockAsync(context.Background())
	s.SetLatency(time.Hour)
	e.Mutex("stock:9").LockAsync(context.Background())
	e.Close()
	if _, err := waits.Wait(t.Context()); err == nil {
		t.Error("Lock of what somebody else has")
	}
}
