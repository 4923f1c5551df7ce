package interop

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
)

// TestFairOrderWithRedisson: Go and Java waiters in one queue are served as they came.
func TestFairOrderWithRedisson(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	java := StartRedisson(t, server)
	e := open(t, server, engine.Options{})
	ctx := context.Background()
	first, err := e.FairMutex("counter").Lock(ctx)
	if err != nil {
		t.Fatal(err)
	}
	const waiters = 12
	var mu sync.Mutex
	var served []int
	note := func(i int) {
		mu.Lock()
		defer mu.Unlock()
		served = append(served, i)
	}
	var wg sync.WaitGroup
	for i := range waiters {
		if i%3 == 1 {
			thread := fmt.Sprint("t", i)
			answer := java.Start("lock fair counter %s", thread)
			wg.Go(func() {
				if said, ok := read(<-answer); !ok {
					t.Errorf("Redisson's waiter %d: %s", i, said)
				}
				note(i)
				java.Do("unlock fair counter %s", thread)
			})
		} else {
			waiter := e.FairMutex("counter").LockAsync(ctx)
			wg.Go(func() {
				h, err := waiter.Wait(ctx)
				if err != nil {
					t.Error(err)
					return
				}
				note(i)
				unlock(t, h)
			})
		}
		redistest.Await(t, fmt.Sprint("waiter ", i, " is in the queue"), func() bool {
			return server.MustDo("LLEN", "redisson_lock_queue:{counter}").Int == int64(i+1)
		})
	}
	unlock(t, first)
	wg.Wait()
	if !slices.IsSorted(served) || len(served) != waiters {
		t.Errorf("served in the order %v", served)
	}
}
