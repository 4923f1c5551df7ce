package engine_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/engine/enginetest"
)

// warehouse has methods that lock the shelves they touch, and that call each other. They pass an Owner, so that an inner call
// re-enters a lock that an outer call holds.
type warehouse struct{ e *engine.Engine }

func (w *warehouse) take(ctx context.Context, me engine.Owner, shelf string) error {
	return engine.Do(ctx, w.e.Mutex(shelf), func(ctx context.Context, hold *engine.Hold) error {
		fmt.Println("taking from", shelf, "count", hold.Count())
		return nil
	}, engine.WithOwner(me))
}

func (w *warehouse) move(ctx context.Context, me engine.Owner, from, to string) error {
	return engine.Do(ctx, w.e.Mutex(from), func(ctx context.Context, _ *engine.Hold) error {
		if err := w.take(ctx, me, from); err != nil { // locks the same shelf again
			return err
		}
		return w.take(ctx, me, to)
	}, engine.WithOwner(me))
}

// Re-entry: calls with one Owner are one holder. Other callers wait until all its holds are unlocked.
func ExampleWithOwner() {
	redis := enginetest.Start() // a Redis in memory, so that the example runs anywhere
	defer redis.Close()
	e, err := redis.Open(context.Background(), engine.Options{})
	if err != nil {
		panic(err)
	}
	defer e.Close()
	ctx, w, me := context.Background(), &warehouse{e}, engine.NewOwner()

	fmt.Println("moved:", w.move(ctx, me, "shelf:1", "shelf:2"))

	hold, _ := e.Mutex("shelf:1").Lock(ctx, engine.WithOwner(me))
	_, err = e.Mutex("shelf:1").TryLock(ctx, engine.WithOwner(engine.NewOwner()))
	fmt.Println("somebody else gets in:", !errors.Is(err, engine.ErrHeld))
	again, err := e.Mutex("shelf:1").TryLock(ctx, engine.WithOwner(me))
	fmt.Println("its owner gets in:", err == nil)
	hold.Unlock(ctx)
	fmt.Println("held after one Unlock:", again.Err() == nil)
	again.Unlock(ctx)
	fmt.Println("left in Redis:", len(redis.Keys()))
	// Output:
	// taking from shelf:1 count 2
	// taking from shelf:2 count 1
	// moved: <nil>
	// somebody else gets in: false
	// its owner gets in: true
	// held after one Unlock: true
	// left in Redis: 0
}
