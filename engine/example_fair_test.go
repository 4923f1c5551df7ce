package engine_test

import (
	"context"
	"fmt"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/engine/enginetest"
	"github.com/wheellock/wheellock/futures"
)

// Customers are served in the order in which they arrived, in any process. TryLock does not overtake the queue.
func ExampleEngine_FairMutex() {
	ctx := context.Background()
	redis := enginetest.Start()
	defer redis.Close()
	e, err := redis.Open(ctx, engine.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer e.Close()

	counter := e.FairMutex("counter")
	var customers []*futures.Future[*engine.Hold]
	for range 3 {
		customers = append(customers, counter.LockAsync(ctx)) // no goroutine waits
	}
	for i, customer := range customers {
		hold, err := customer.Wait(ctx)
		if err != nil {
			fmt.Println(err)
			return
		}
		_, err = counter.TryLock(ctx)
		fmt.Printf("serving customer %d, somebody in a hurry: %t\n", i+1, err == nil)
		hold.Unlock(ctx)
	}
	// Output:
	// serving customer 1, somebody in a hurry: false
	// serving customer 2, somebody in a hurry: false
	// serving customer 3, somebody in a hurry: false
}
