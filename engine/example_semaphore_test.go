package engine_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/engine/enginetest"
)

// At most three workers of a fleet use the printers at a time; a large job needs two of them.
func ExampleEngine_Semaphore() {
	ctx := context.Background()
	redis := enginetest.Start() // a Redis in memory, so that the example runs anywhere
	defer redis.Close()
	e, _ := redis.Open(ctx, engine.Options{})
	defer e.Close()

	printers := e.Semaphore("printers")
	printers.TrySetPermits(ctx, 3) // every worker does so; the first one counts

	if err := printers.Acquire(ctx, 2); err != nil {
		panic(err)
	}
	err := printers.TryAcquire(ctx, 2)
	fmt.Println("another large job:", errors.Is(err, engine.ErrHeld))
	printers.Release(ctx, 2)

	free, _ := printers.Available(ctx)
	fmt.Println("free:", free)
	// Output:
	// another large job: true
	// free: 3
}

// A user may ask three times in a minute: the first question of a minute makes its permits, which nobody gives back.
func ExampleSemaphore_TrySetPermitsFor() {
	ctx := context.Background()
	redis := enginetest.Start()
	defer redis.Close()
	e, _ := redis.Open(ctx, engine.Options{})
	defer e.Close()

	questions := e.Semaphore("questions:user:7")
	for range 4 {
		questions.TrySetPermitsFor(ctx, 3, time.Minute)
		err := questions.TryAcquire(ctx, 1)
		fmt.Println("too many:", errors.Is(err, engine.ErrHeld))
	}
	// Output:
	// too many: false
	// too many: false
	// too many: false
	// too many: true
}

// A job starts when three shards are ready.
func ExampleEngine_CountDownLatch() {
	ctx := context.Background()
	redis := enginetest.Start()
	defer redis.Close()
	e, _ := redis.Open(ctx, engine.Options{})
	defer e.Close()

	ready := e.CountDownLatch("shards:ready")
	ready.TrySetCount(ctx, 3)
	started := ready.WaitAsync(ctx).Then(func(_ struct{}, err error) { fmt.Println("start:", err) })
	for range 3 {
		ready.CountDown(ctx)
	}
	started.Wait(ctx)
	// Output:
	// start: <nil>
}
