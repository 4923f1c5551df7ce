package features_test

import (
	"errors"
	"testing"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// Invariant: a call that comes while the engine closes is answered, whatever the name is used as. Here the release that
// Close sends gets no answer, so that the name is still in use when a call for another kind comes.
// invariant: one-kind-per-name
func TestCloseAnswersCallsForAnotherKind(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	proxy := redistest.NewProxy(t, server.Addr())
	e := testkit.Connect(t, proxy.Addr())
	h := testkit.MustLock(t, e.Mutex("x"))
	proxy.BlackHole(redistest.Both, true)
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		e.Close()
	}()
	<-h.Done() // Close has reached the loop
	for what, call := range map[string]func() error{
		"Semaphore.Release":        func() error { return e.Semaphore("x").Release(testkit.Soon(t), 1) },
		"CountDownLatch.CountDown": func() error { return e.CountDownLatch("x").CountDown(testkit.Soon(t)) },
		"PermitSemaphore.Release": func() error {
			return e.PermitSemaphore("x").Release(testkit.Soon(t), "00000000000000000000000000000001")
		},
	} {
		if err := call(); !errors.Is(err, engine.ErrClosed) {
			t.Errorf("%s while the engine closes: %v", what, err)
		}
	}
	proxy.BlackHole(redistest.Both, false)
	<-closed
}
