package faults_test

import (
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/internal/virtual"
)

// A call that fails fast beside a server that stands still fails when a connection has been silent for ConnWriteTimeout, and not only when a new one
// has failed too; and those that follow at once. A lock that waits for the link gets it when the server goes on.
func TestFaultFailFastBesideASilentServer(t *testing.T) {
	t.Parallel()
	virtual.Test(t, func(w *virtual.World) {
		e, l := w.Connect()
		other, _ := w.Connect()
		held := testkit.MustLock(w.T, other.Mutex("stock:7"))
		waiter := e.Mutex("stock:7").LockAsync(w.T.Context(), engine.WithFailFast())
		time.Sleep(time.Second)
		l.Up.Hold(time.Now().Add(20 * time.Second))
		asked := time.Now()
		patient := e.Mutex("stock:8").LockAsync(w.T.Context())
		for _, err := range []error{testkit.ResultOf(waiter.Wait(w.T.Context())), testkit.ResultOf(e.Mutex("stock:9").Lock(w.T.Context(), engine.WithFailFast()))} {
			if took := time.Since(asked); !testkit.IsAny(err, engine.ErrUnavailable) || took > 2*time.Second+100*time.Millisecond || e.Up() {
				w.T.Errorf("after %v: %v, Up %t", took, err, e.Up())
			}
		}
		h, err := patient.Wait(w.T.Context())
		testkit.Must(w.T, err)
		testkit.MustUnlock(w.T, h)
		testkit.MustUnlock(w.T, held)
	})
}

// While calls are turned away, the server is tried several times a second, so they are served soon after it is back.
func TestFaultCallsAreServedSoonAfterAnOutage(t *testing.T) {
	t.Parallel()
	virtual.Test(t, func(w *virtual.World) {
		e, l := w.Connect()
		up := time.Now().Add(30 * time.Second)
		l.Refuse(up)
		l.Cut()
		for {
			h, err := e.Mutex("stock:7").TryLock(w.T.Context())
			if err == nil {
				testkit.MustUnlock(w.T, h)
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
		if took := time.Since(up); took < 0 || took > 200*time.Millisecond {
			w.T.Errorf("served %v after the end of the outage, want 200ms at most", took)
		}
	})
}
