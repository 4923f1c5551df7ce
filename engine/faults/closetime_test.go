package faults_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// Close is over within its bound, whatever is on its way to a server that does not answer.
func TestFaultCloseIsOverInTimeWhenTheServerIsFrozen(t *testing.T) {
	t.Parallel()
	const bound = 12 * time.Second                                     // 5 s, and what a busy machine adds; a connection may be away for 17 s
	for _, idle := range []time.Duration{0, 1500 * time.Millisecond} { // whether the connections have rested
		t.Run(fmt.Sprint("idle for ", idle), func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			opts := testkit.OptionsFor(server.Addr())
			opts.Lease, opts.Redis.ConnWriteTimeout = time.Minute, 15*time.Second
			e := testkit.MustOpen(t, func(ctx context.Context) (*engine.Engine, error) { return engine.Open(ctx, opts) })
			for i := range 10 {
				testkit.MustLock(t, e.Mutex(fmt.Sprint("stock:", i)))
			}
			queued := e.Mutex("stock:0").LockAsync(t.Context())
			time.Sleep(idle)
			server.Freeze()
			defer server.Thaw()
			e.Mutex("another").LockAsync(t.Context()) // is on its way
			go e.Mutex("another").Inspect(t.Context())
			since := time.Now()
			e.Close()
			took := time.Since(since)
			t.Logf("Close took %v", took)
			if took > bound {
				t.Errorf("want %v at most", bound)
			}
			if _, err := queued.Result(); !testkit.IsAny(err, engine.ErrClosed) {
				t.Errorf("a waiter: %v, want ErrClosed", err)
			}
		})
	}
}
