package engine_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/engine/enginetest"
)

// Every server starts the nightly report at two o'clock by its own clock. The report takes a second, the clocks differ by more.
// The name stays taken for five minutes, so that only the first starts it.
func ExampleWithMinHold() {
	ctx := context.Background()
	redis := enginetest.Start() // a Redis in memory, so that the example runs anywhere
	defer redis.Close()
	first, _ := redis.Open(ctx, engine.Options{})
	defer first.Close()
	second, _ := redis.Open(ctx, engine.Options{})
	defer second.Close()

	nightly := func(e *engine.Engine) error {
		hold, err := e.Mutex("report:2026-11-22").TryLock(ctx, engine.WithMinHold(5*time.Minute))
		if err != nil {
			return err
		}
		return hold.Unlock(ctx)
	}
	fmt.Println("first:", nightly(first))
	fmt.Println("second is too late:", errors.Is(nightly(second), engine.ErrHeld))
	// Output:
	// first: <nil>
	// second is too late: true
}

// One process reserves a seat and another sells it. The lock goes with the order, as an id.
func ExampleHold_Detach() {
	ctx := context.Background()
	redis := enginetest.Start()
	defer redis.Close()
	shop, _ := redis.Open(ctx, engine.Options{})
	defer shop.Close()
	billing, _ := redis.Open(ctx, engine.Options{})
	defer billing.Close()

	seat, err := shop.Mutex("seat:12A").Lock(ctx)
	if err != nil {
		panic(err)
	}
	id, err := seat.Detach(ctx, 10*time.Minute) // if nobody takes it over, it is free again then
	if err != nil {
		panic(err)
	}
	sold, err := billing.Mutex("seat:12A").Adopt(ctx, id)
	if err != nil {
		panic(err)
	}
	_, err = billing.Mutex("seat:12A").Adopt(ctx, id)
	fmt.Println("a second time:", errors.Is(err, engine.ErrLost))
	fmt.Println("unlocked:", sold.Unlock(ctx))
	// Output:
	// a second time: true
	// unlocked: <nil>
}

// An upload holds its file for as long as nobody else wants it.
func ExampleHold_Wanted() {
	ctx := context.Background()
	redis := enginetest.Start()
	defer redis.Close()
	e, _ := redis.Open(ctx, engine.Options{})
	defer e.Close()

	upload, err := e.Mutex("file:7").Lock(ctx)
	if err != nil {
		panic(err)
	}
	next := e.Mutex("file:7").LockAsync(ctx)
	<-upload.Wanted()
	upload.Unlock(ctx)
	_, err = next.Wait(ctx)
	fmt.Println("the next has it:", err == nil)
	// Output:
	// the next has it: true
}

// A transfer locks both accounts, whatever their order.
func ExampleEngine_All() {
	ctx := context.Background()
	redis := enginetest.Start()
	defer redis.Close()
	e, _ := redis.Open(ctx, engine.Options{})
	defer e.Close()

	accounts, err := e.All("account:7", "account:3")
	if err != nil {
		panic(err)
	}
	err = engine.Do(ctx, accounts, func(ctx context.Context, h *engine.Hold) error {
		_, err := e.Mutex("account:3").TryLock(ctx)
		fmt.Println("one of them is taken:", errors.Is(err, engine.ErrHeld))
		return nil
	})
	fmt.Println(err)
	// Output:
	// one of them is taken: true
	// <nil>
}
