package engine_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/engine/enginetest"
)

// Say what a lock is for, so that operators and other callers read it.
func ExampleWithNote() {
	redis := enginetest.Start() // a Redis in memory, so that the example runs anywhere
	defer redis.Close()
	ctx := context.Background()
	e, err := redis.Open(ctx, engine.Options{})
	if err != nil {
		panic(err)
	}
	defer e.Close()

	hold, _ := e.Mutex("stock:7").Lock(ctx, engine.WithNote("order 4711"))
	defer hold.Unlock(ctx)
	_, err = e.Mutex("stock:7").TryLock(ctx, engine.WithNote("order 4712"))
	if held := (*engine.HeldError)(nil); errors.As(err, &held) {
		fmt.Println("it is taken for", held.Note)
	}
	state, _ := e.Mutex("stock:7").Inspect(ctx)
	fmt.Println("an operator reads:", state.Note)
	// Output:
	// it is taken for order 4711
	// an operator reads: order 4711
}

// A holder that hangs does not keep the lock.
func ExampleWithAlive() {
	redis := enginetest.Start() // a Redis in memory, so that the example runs anywhere
	defer redis.Close()
	ctx := context.Background()
	e, err := redis.Open(ctx, engine.Options{Lease: 3 * time.Second})
	if err != nil {
		panic(err)
	}
	defer e.Close()

	stuck := errors.New("no progress")
	hold, err := e.Mutex("job").Lock(ctx, engine.WithAlive(func() error { return stuck }))
	if err != nil {
		panic(err)
	}
	<-hold.Done()
	fmt.Println("lost:", errors.Is(hold.Err(), engine.ErrLost), "because of it:", errors.Is(hold.Err(), stuck))
	// Output: lost: true because of it: true
}
