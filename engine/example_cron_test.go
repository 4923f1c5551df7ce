package engine_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/engine/enginetest"
)

// nightly runs the steps of a job on one machine of many. If the lock is lost, another machine may have begun, so nightly
// stops: between two steps, or inside a step that watches its context.
func nightly(ctx context.Context, e *engine.Engine, steps ...func(context.Context) error) error {
	hold, err := e.Mutex("cron:nightly").TryLock(ctx)
	if errors.Is(err, engine.ErrHeld) {
		return nil // another machine does it
	}
	if err != nil {
		return err
	}
	defer hold.Unlock(ctx)  // the release is sent although ctx has ended
	ctx = hold.Context(ctx) // renewed for as long as it takes; ends when the lock is lost
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}

// A cron job that stops when its lock is lost.
func Example_cron() {
	redis := enginetest.Start() // a Redis in memory, so that the example runs anywhere
	defer redis.Close()
	e, err := redis.Open(context.Background(), engine.Options{WatchLoss: true}) // hear of it at once
	if err != nil {
		panic(err)
	}
	defer e.Close()

	say := func(what string) func(context.Context) error {
		return func(context.Context) error { fmt.Println(what); return nil }
	}
	interrupted := func(ctx context.Context) error {
		redis.Lose("cron:nightly") // an operator deletes the key
		<-ctx.Done()
		return context.Cause(ctx)
	}

	fmt.Println("monday:", nightly(context.Background(), e, say("copy"), say("compress")))
	err = nightly(context.Background(), e, say("copy"), interrupted, say("compress"))
	fmt.Println("tuesday:", errors.Is(err, engine.ErrLost))
	// Output:
	// copy
	// compress
	// monday: <nil>
	// copy
	// tuesday: true
}
