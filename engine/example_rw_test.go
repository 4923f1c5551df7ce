package engine_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/engine/enginetest"
)

// Many callers read a price list at once, in this process and in others. A writer is alone. It may also read, and so check its
// work before other readers see it.
func ExampleEngine_RWMutex() {
	ctx := context.Background()
	redis := enginetest.Start() // a Redis in memory, so that the example runs anywhere
	defer redis.Close()
	e, _ := redis.Open(ctx, engine.Options{})
	defer e.Close()
	prices := e.RWMutex("prices")

	first, _ := prices.Reader().Lock(ctx)
	second, _ := prices.Reader().Lock(ctx)
	_, err := prices.Writer().TryLock(ctx)
	fmt.Println("two read; write beside them:", errors.Is(err, engine.ErrHeld))
	first.Unlock(ctx)
	second.Unlock(ctx)

	me := engine.NewOwner()
	write, _ := prices.Writer().Lock(ctx, engine.WithOwner(me))
	read, _ := prices.Reader().Lock(ctx, engine.WithOwner(me))
	write.Unlock(ctx) // from here on others may read, too, but nobody may write
	other, err := prices.Reader().Lock(ctx)
	fmt.Println("another reads:", err == nil)
	_, err = prices.Writer().Lock(ctx, engine.WithOwner(me))
	fmt.Println("a reader may not wait for itself:", errors.Is(err, engine.ErrDeadlock))
	other.Unlock(ctx)
	read.Unlock(ctx)
	// Output:
	// two read; write beside them: true
	// another reads: true
	// a reader may not wait for itself: true
}
