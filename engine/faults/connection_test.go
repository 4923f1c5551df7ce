package faults_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/internal/virtual"
)

// An acquire that reaches Redis after its connection was given up, and after the clean-up for it has passed,
// makes no orphan: the script refuses it when it is late, and it is released again when it is not.
// invariant: late-acquire-does-nothing
func TestFaultAcquireDeliveredAfterItsCleanUp(t *testing.T) {
	t.Parallel()
	stood := 0
	virtual.Seeds(t, testkit.Times(t, 1000, 12), func(w *virtual.World, random *rand.Rand) {
		e, l := w.Connect(testkit.Lease(time.Second)) // a short lease finds a dead link fast
		testkit.MustUnlock(w.T, testkit.MustLock(w.T, e.Mutex("before")))
		late := time.Second + time.Duration(random.Int64N(int64(4*time.Second)))
		l.HoldUp(time.Now().Add(late)) // new connections get through
		var callers sync.WaitGroup
		for i := range 20 {
			patience := time.Duration(100+random.IntN(500)) * time.Millisecond
			callers.Go(func() {
				name, day := fmt.Sprintf("late:%d", i), engine.WithLease(24*time.Hour) // so long the key would stand
				if i%2 == 0 {
					if h, err := e.Mutex(name).TryLock(context.Background(), day); err == nil {
						testkit.MustUnlock(w.T, h) // by another connection
					} else if !testkit.IsAny(err, engine.ErrUncertain, engine.ErrNotSent) {
						w.T.Errorf("a try without an answer: %v", err)
					}
					return
				}
				ctx, cancel := context.WithTimeout(context.Background(), patience)
				defer cancel()
				if h, err := e.Mutex(name).Lock(ctx, day); err == nil {
					testkit.MustUnlock(w.T, h)
				} else if !errors.Is(err, context.DeadlineExceeded) {
					w.T.Errorf("a lock without an answer: %v", err)
				}
			})
		}
		callers.Wait()
		most := 0
		for began := time.Now(); time.Since(began) < late; time.Sleep(time.Millisecond) {
			most = max(most, len(w.Server.Keys()))
		}
		stood = max(stood, most)
		time.Sleep(2 * time.Second)
		w.Quiet(e, 0)
	})
	t.Logf("at most %d keys stood of acquires that were delivered late", stood)
}
