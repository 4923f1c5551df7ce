package engine_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"sync"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/engine/enginetest"
)

// An Observer feeds metrics: how long callers waited, how long locks were held, and how many were lost. Label by kind, not by
// name, of which there may be millions.
func ExampleObserver() {
	ctx := context.Background()
	redis := enginetest.Start()
	defer redis.Close()
	var ended sync.WaitGroup
	ended.Add(1)
	e, err := redis.Open(ctx, engine.Options{Observer: &engine.Observer{
		Granted: func(g engine.Grant) { fmt.Println("wait histogram:", g.Kind, g.Waited >= 0) },
		Failed: func(f engine.Failure) {
			fmt.Println("failures:", f.Kind, "held by another:", errors.Is(f.Err, engine.ErrHeld))
		},
		Ended: func(end engine.End) {
			fmt.Println("hold histogram:", end.Kind, end.Held >= 0, "lost:", errors.Is(end.Err, engine.ErrLost))
			ended.Done()
		},
	}})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()

	hold, err := e.Mutex("stock:7").Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := e.Mutex("stock:7").TryLock(ctx); err == nil {
		log.Fatal("two holders")
	}
	if err := hold.Unlock(ctx); err != nil {
		log.Fatal(err)
	}
	ended.Wait() // Ended is called on the callback workers
	// Output:
	// wait histogram: mutex true
	// failures: mutex held by another: true
	// hold histogram: mutex true lost: false
}
