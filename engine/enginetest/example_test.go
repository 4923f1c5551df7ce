package enginetest_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/engine/enginetest"
)

// settle is the code under test: it settles the accounts of a day, one process at a time. It refuses if another process is
// doing that already, and stops if it loses the lock.
func settle(ctx context.Context, e *engine.Engine, day string, account func(context.Context) error) error {
	err := engine.Do(ctx, e.Mutex("accounts:"+day), func(ctx context.Context, _ *engine.Hold) error {
		return account(ctx)
	}, engine.WithWait(time.Second))
	switch {
	case errors.Is(err, engine.ErrHeld):
		return errors.New("another process is at it")
	case errors.Is(err, engine.ErrLost):
		return errors.New("stopped in the middle")
	}
	return err
}

// A unit test without Redis. In a test, enginetest.New(t, options) replaces the first six lines.
func Example() {
	redis := enginetest.Start()
	defer redis.Close()
	e, err := redis.Open(context.Background(), engine.Options{WatchLoss: true})
	if err != nil {
		panic(err)
	}
	defer e.Close()
	ctx := context.Background()

	fmt.Println("alone:", settle(ctx, e, "monday", func(context.Context) error { return nil }))

	hold, _ := e.Mutex("accounts:tuesday").Lock(ctx)
	fmt.Println("beside another:", settle(ctx, e, "tuesday", nil))
	hold.Unlock(ctx)

	fmt.Println("the key is deleted meanwhile:", settle(ctx, e, "wednesday", func(ctx context.Context) error {
		redis.Lose("accounts:wednesday")
		<-ctx.Done()
		return context.Cause(ctx)
	}))
	fmt.Println("left behind:", redis.Keys())
	// Output:
	// alone: <nil>
	// beside another: another process is at it
	// the key is deleted meanwhile: stopped in the middle
	// left behind: []
}
