package engine_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/engine/enginetest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// ownContext is a context of a user's type, which asks the engine for a lock when it is watched, and is slow to hear that
// it is watched no more.
type ownContext struct {
	context.Context
	done    chan struct{}
	watched func()
	free    chan struct{}
}

func (o *ownContext) Done() <-chan struct{} { return o.done }

func (o *ownContext) AfterFunc(func()) (stop func() bool) {
	o.watched()
	return func() bool { <-o.free; return true }
}

// invariant: loop-never-waits
func TestAUsersContextRunsNeitherUnderAMutexNorOnTheLoop(t *testing.T) {
	e, _ := enginetest.New(t, engine.Options{})
	held, err := e.Mutex("stock:7").Lock(t.Context())
	testkit.Must(t, err)
	ctx := &ownContext{Context: context.Background(), done: make(chan struct{}), free: make(chan struct{})}
	free := sync.OnceFunc(func() { close(ctx.free) })
	defer free()
	ctx.watched = sync.OnceFunc(func() { e.Mutex("stock:8").LockAsync(ctx) })
	waits := e.Mutex("stock:7").LockAsync(ctx)
	if err := held.Unlock(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := waits.Wait(t.Context()); err != nil {
		t.Error(err)
	}
	within, cancel := context.WithTimeout(t.Context(), testkit.Patience)
	defer cancel()
	for range 3 { // the loop goes on while its stop blocks
		h, err := e.Mutex("stock:9").Lock(within)
		testkit.Must(t, err)
		h.UnlockAsync()
	}
}

// Requests come and go under one context that ends meanwhile. Each is answered, and none twice.
// invariant: answered-once
func TestRequestsUnderOneContextThatEnds(t *testing.T) {
	t.Parallel()
	e, _ := enginetest.New(t, engine.Options{})
	for range 200 {
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for range 5 {
					if h, err := e.Mutex("stock:7").LockAsync(ctx).Wait(context.Background()); err == nil {
						h.UnlockAsync()
					}
				}
			})
		}
		time.AfterFunc(200*time.Microsecond, cancel)
		wg.Wait()
		cancel()
	}
	if waiting := e.Stats().Waiting; waiting != 0 {
		t.Errorf("Stats().Waiting = %d", waiting)
	}
}
