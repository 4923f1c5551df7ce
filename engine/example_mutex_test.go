package engine_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/engine/enginetest"
)

func openExample() (*engine.Engine, func()) {
	server := enginetest.Start() // your program calls engine.Open
	e, err := server.Open(context.Background(), engine.Options{})
	if err != nil {
		panic(err)
	}
	return e, func() { e.Close(); server.Close() }
}

// Lock waits for the lock, here for up to two seconds. The work under the lock gets a context that ends when the lock is lost.
func ExampleMutex_Lock() {
	e, stop := openExample()
	defer stop()
	ctx := context.Background()

	hold, err := e.Mutex("stock:7").Lock(ctx, engine.WithWait(2*time.Second))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer hold.Unlock(ctx)

	work := hold.Context(ctx)
	fmt.Println(hold.Name(), work.Err())
	// Output: stock:7 <nil>
}

// TryLock does not wait. HeldError says which lock is held, and what its lease has left.
func ExampleMutex_TryLock() {
	e, stop := openExample()
	defer stop()
	ctx := context.Background()
	hold, _ := e.Mutex("stock:7").Lock(ctx)
	defer hold.Unlock(ctx)

	_, err := e.Mutex("stock:7").TryLock(ctx)
	var held *engine.HeldError
	if errors.As(err, &held) {
		fmt.Println(held.Name, "is held")
	}
	// Output: stock:7 is held
}

// LockAsync returns a future. The callback runs on a worker of the engine.
func ExampleMutex_LockAsync() {
	e, stop := openExample()
	defer stop()
	ctx := context.Background()

	done := e.Mutex("stock:7").LockAsync(ctx).Then(func(hold *engine.Hold, err error) {
		if err == nil {
			fmt.Println("held:", hold.Name())
			hold.UnlockAsync()
		}
	})
	done.Wait(ctx)
	// Output: held: stock:7
}

// Do locks, runs a function and unlocks. The function's context ends when the lock is lost.
func ExampleDo() {
	e, stop := openExample()
	defer stop()

	err := engine.Do(context.Background(), e.Mutex("stock:7"), func(ctx context.Context, hold *engine.Hold) error {
		fmt.Println("working under", hold.Name())
		return ctx.Err()
	})
	fmt.Println(err)
	// Output:
	// working under stock:7
	// <nil>
}

// Several locks at once, all or nothing.
func ExampleMulti() {
	e, stop := openExample()
	defer stop()
	ctx := context.Background()

	both, err := engine.Multi(e.Mutex("account:1"), e.Mutex("account:2"))
	if err != nil {
		fmt.Println(err)
		return
	}
	hold, err := both.Lock(ctx)
	fmt.Println(hold.Name(), err)
	hold.Unlock(ctx)
	// Output: account:1,account:2 <nil>
}
