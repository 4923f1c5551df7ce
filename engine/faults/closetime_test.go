package faults_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/internal/virtual"
)

// Close is over within its bound, whatever is on its way to a server that does not answer.
func TestFaultCloseIsOverInTimeWhenTheServerIsFrozen(t *testing.T) {
	t.Parallel()
	const bound = 5 * time.Second
	for _, idle := range []time.Duration{0, 1500 * time.Millisecond} { // whether the connections have rested
		virtual.Test(t, func(w *virtual.World) {
			e, l := w.Connect(testkit.Lease(time.Minute), func(o *engine.Options) { o.Redis.ConnWriteTimeout = 15 * time.Second })
			for i := range 10 {
				testkit.MustLock(w.T, e.Mutex(fmt.Sprint("stock:", i)))
			}
			queued := e.Mutex("stock:0").LockAsync(w.T.Context())
			time.Sleep(idle)
			l.Up.Hold(time.Now().Add(time.Hour))
			e.Mutex("another").LockAsync(w.T.Context()) // is on its way
			go e.Mutex("another").Inspect(w.T.Context())
			since := time.Now()
			e.Close()
			if took := time.Since(since); took > bound {
				w.T.Errorf("after %v of rest Close took %v, want %v at most", idle, took, bound)
			}
			if _, err := queued.Result(); !testkit.IsAny(err, engine.ErrClosed) {
				w.T.Errorf("a waiter: %v, want ErrClosed", err)
			}
		})
	}
}
