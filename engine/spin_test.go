package engine_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
)

// TestSpinMutex: waiters of other processes get in by asking, and not a message is published or heard.
func TestSpinMutex(t *testing.T) {
	server := redistest.Start(t)
	inside, sections := 0, 0
	var mu sync.Mutex
	var wg sync.WaitGroup
	var engines []*engine.Engine
	for range 3 {
		engines = append(engines, openAt(t, server.Addr(), patient))
	}
	talk := func() int64 {
		counts := server.CommandCounts()
		return counts["publish"] + counts["subscribe"]
	}
	before := talk() // each Open tries its rights
	for _, e := range engines {
		for range 4 {
			wg.Go(func() {
				for range 10 {
					err := engine.Do(context.Background(), e.SpinMutex("stock:7"), func(context.Context, *engine.Hold) error {
						mu.Lock()
						inside++
						if inside != 1 {
							t.Error("two holders at once")
						}
						mu.Unlock()
						time.Sleep(100 * time.Microsecond) // sleeps: how long it is held
						mu.Lock()
						inside--
						sections++
						mu.Unlock()
						return nil
					})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	wg.Wait()
	if sections != 120 {
		t.Errorf("%d sections, want 120", sections)
	}
	if n := talk() - before; n > 0 {
		t.Errorf("%d messages and subscriptions", n)
	}
	if keys := server.Keys(); len(keys) != 0 {
		t.Errorf("keys left: %q", keys)
	}
}

func TestSpinMutexWaitsAndTries(t *testing.T) {
	t.Parallel()
	t.Run("like a mutex", spec(engine.Options{}, func(b *bubble) {
		m := b.SpinMutex("stock:7")
		other := b.another(engine.Options{})
		h := b.lock(m)
		_, err := other.SpinMutex("stock:7").TryLock(context.Background())
		b.wantIs("TryLock of a held lock", err, engine.ErrHeld)
		_, err = other.SpinMutex("stock:7").Lock(context.Background(), engine.WithWait(time.Second))
		b.wantIs("Lock of a held lock", err, engine.ErrWaitTimeout, engine.ErrHeld)
		waiter := b.queue(other.SpinMutex("stock:7"))
		b.unlock(h)
		time.Sleep(200 * time.Millisecond) // the longest sleep between questions is 128 ms
		waiter.wantGrantedNow()
		b.unlock(waiter.granted())
		if _, err := b.Mutex("stock:7").TryLock(context.Background()); err != nil && !errors.Is(err, engine.ErrInvalid) {
			b.T.Errorf("a mutex of the same name: %v", err)
		}
	}))
}
