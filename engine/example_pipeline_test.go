package engine_test

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/engine/enginetest"
	"github.com/wheellock/wheellock/futures"
)

// orders is how many locks the example takes. A waiting request is a struct in a queue, and a held lock an entry in a wheel, so
// 100,000 of them are no problem on a real Redis. The in-memory server of this example is slower.
const orders = 1_000

// A pipeline: a lock for each of many orders, and the work on each order as soon as it is locked. No goroutine waits, and the
// callbacks share the workers of a pool.
func Example_pipeline() {
	redis := enginetest.Start() // a Redis in memory, so that the example runs anywhere
	defer redis.Close()
	e, err := redis.Open(context.Background(), engine.Options{})
	if err != nil {
		panic(err)
	}

	ctx, cancel := context.WithCancel(context.Background()) // its end would abandon all that still wait
	defer cancel()
	var shipped, failed atomic.Int64
	all := make([]*futures.Future[*engine.Hold], orders)
	for i := range all {
		all[i] = e.Mutex(fmt.Sprint("order:", i)).LockAsync(ctx).Then(func(hold *engine.Hold, err error) {
			if err != nil {
				failed.Add(1)
				return
			}
			defer hold.Unlock(ctx)
			shipped.Add(1) // the work
		})
	}
	_, err = futures.All(all...).Wait(ctx)
	e.Shutdown(ctx) // also waits for releases that Redis has not answered yet

	fmt.Println("shipped:", shipped.Load(), "failed:", failed.Load(), "error:", err)
	fmt.Println("left in Redis:", len(redis.Keys()))
	// Output:
	// shipped: 1000 failed: 0 error: <nil>
	// left in Redis: 0
}
