package faults_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/internal/virtual"
)

// Invariant: a turn of the loop ends whatever the link does. The server ends while a lock is hot: held, waited for,
// and handed on many times. What the process does through the outage must be next to nothing, and callers go on when
// the server is back. A loop that spins allocates, or keeps virtual time from going on. It runs beside no other test: it looks at memory.
// invariant: loop-never-waits
func TestFaultOutageUnderHotLockIsQuiet(t *testing.T) {
	for name, lock := range map[string]func(*engine.Engine) *engine.Mutex{
		"mutex":  func(e *engine.Engine) *engine.Mutex { return e.Mutex("hot") },
		"fenced": func(e *engine.Engine) *engine.Mutex { return e.FencedMutex("hot") },
	} {
		t.Run(name, func(t *testing.T) {
			virtual.Seeds(t, 5, func(w *virtual.World, random *rand.Rand) {
				e, _ := w.Connect(testkit.Lease(3 * time.Second))
				ctx, stop := context.WithCancel(context.Background())
				var callers sync.WaitGroup
				for range 64 {
					callers.Go(func() {
						for ctx.Err() == nil {
							if h, err := lock(e).Lock(ctx); err == nil {
								time.Sleep(2 * time.Millisecond)
								h.Unlock(ctx)
							}
						}
					})
				}
				for range 3 {
					time.Sleep(100*time.Millisecond + time.Duration(random.Int64N(int64(10*time.Millisecond))))
					w.Server.Stop()
					time.Sleep(300 * time.Millisecond) // what was under way is answered
					memory := allocated()
					time.Sleep(10 * time.Second)
					if grown := allocated() - memory; grown > 20<<20 {
						w.T.Fatalf("in 10s without a server the process allocated %d MB", grown>>20)
					}
					before := e.Stats().Granted
					w.Server.Start(nil)
					redistest.Await(w.T, "callers to go on", func() bool { return e.Stats().Granted > before+10 })
				}
				stop()
				callers.Wait()
			})
		})
	}
}
