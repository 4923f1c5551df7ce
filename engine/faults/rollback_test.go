package faults_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/internal/virtual"
)

// Redis dies, and comes back with what it knew a second ago: with a holder that has unlocked since, and with places in line at which nobody waits
// any more. That costs the waiters the holder's lease, once, and nothing for each place. invariant: gift-counts-from-its-acquire
func TestFaultRestartWithPlacesThatWereLeft(t *testing.T) {
	t.Parallel()
	const engines, lease, queued = 8, 12 * time.Second, 5 * time.Second
	for name, locker := range map[string]func(*engine.Engine) engine.Locker{
		"mutex":  func(e *engine.Engine) engine.Locker { return e.Mutex("hot") },
		"fenced": func(e *engine.Engine) engine.Locker { return e.FencedMutex("hot") },
		"simple": func(e *engine.Engine) engine.Locker { return e.SimpleMutex("hot") },
		"writer": func(e *engine.Engine) engine.Locker { return e.RWMutex("hot").Writer() },
		"fair":   func(e *engine.Engine) engine.Locker { return e.FairMutex("hot") }, // places of a queue have a time of their own
		"limit":  func(e *engine.Engine) engine.Locker { return e.Limit("hot", 1) },
	} {
		t.Run(name, func(t *testing.T) {
			virtual.Test(t, func(w *virtual.World) {
				ctx, cancel := context.WithCancel(w.T.Context())
				var granted atomic.Int64
				var working sync.WaitGroup
				for range engines {
					e, _ := w.Connect(testkit.Lease(lease))
					l := locker(e)
					working.Go(func() {
						for ctx.Err() == nil {
							h, err := l.Lock(ctx)
							if err != nil {
								continue
							}
							granted.Add(1)
							time.Sleep(60 * time.Millisecond)
							h.Unlock(context.WithoutCancel(ctx)) // a hold that was lost is an error
						}
					})
				}
				time.Sleep(2 * time.Second)
				once := w.Server.Save()
				time.Sleep(time.Second)
				w.Server.Stop()
				time.Sleep(100 * time.Millisecond)
				w.Server.Start(&once)
				time.Sleep(lease + queued)
				before := granted.Load()
				time.Sleep(time.Second)
				if n := granted.Load() - before; n < 8 {
					t.Errorf("%d grants in a second, when all leases of then were over", n)
				}
				cancel()
				working.Wait()
			})
		})
	}
}
