package engine_test

import (
	"errors"
	"testing"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
)

// Invariant: a call that comes while the engine closes is answered, whatever the name is used as. Here the release that
// Close sends gets no answer, so that the name is still in use when a call for another kind comes.
func TestCloseAnswersCallsForAnotherKind(t *testing.T) {
	server := redistest.Start(t)
	proxy := redistest.NewProxy(t, server.Addr())
	e := connect(t, proxy.Addr())
	h := mustLock(t, e.Mutex("x"))
	proxy.BlackHole(redistest.Both, true)
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		e.Close()
	}()
	<-h.Done() // Close has reached the loop
	for what, call := range map[string]func() error{
		"Semaphore.Release":        func() error { return e.Semaphore("x").Release(soon(t), 1) },
		"CountDownLatch.CountDown": func() error { return e.CountDownLatch("x").CountDown(soon(t)) },
		"PermitSemaphore.Release":  func() error { return e.PermitSemaphore("x").Release(soon(t), "00000000000000000000000000000001") },
	} {
		if err := call(); !errors.Is(err, engine.ErrClosed) {
			t.Errorf("%s while the engine closes: %v", what, err)
		}
	}
	proxy.BlackHole(redistest.Both, false)
	<-closed
}
