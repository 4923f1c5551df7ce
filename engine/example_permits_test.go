package engine_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/engine/enginetest"
)

// A supplier allows two sessions. If a worker dies, its session is free when its lease is over. If a worker was paused for
// too long and lost its session, the hold's context ends.
func ExampleEngine_PermitSemaphore() {
	ctx := context.Background()
	redis := enginetest.Start() // a Redis in memory, so that the example runs anywhere
	defer redis.Close()
	e, _ := redis.Open(ctx, engine.Options{})
	defer e.Close()

	sessions := e.PermitSemaphore("supplier:sessions")
	sessions.TrySetPermits(ctx, 2) // every worker does so; the first one counts

	session, err := sessions.Acquire(ctx, 1) // renewed until it is unlocked
	if err != nil {
		panic(err)
	}
	batch, err := sessions.Acquire(ctx, 1, engine.WithLease(10*time.Minute)) // ends by itself
	if err != nil {
		panic(err)
	}
	_, err = sessions.TryAcquire(ctx, 1)
	fmt.Println("a third one:", errors.Is(err, engine.ErrHeld))

	sessions.Release(ctx, batch.PermitIDs()...) // by its id, as somebody does who has no hold
	work := session.Context(ctx)
	session.Unlock(ctx)
	<-work.Done()
	fmt.Println("the work ends:", errors.Is(context.Cause(work), engine.ErrUnlocked))

	sessions.SetPermits(ctx, 5) // the supplier allows more of them
	free, _ := sessions.Available(ctx)
	fmt.Println("free:", free)
	// Output:
	// a third one: true
	// the work ends: true
	// free: 5
}
