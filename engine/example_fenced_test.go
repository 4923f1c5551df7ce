package engine_test

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/engine/enginetest"
)

// store is a storage with fencing: it refuses writes with a token that is older than the newest it has seen.
type store struct {
	mu      sync.Mutex
	highest int64
	stock   int
}

var errStale = errors.New("stale token")

func (s *store) write(token int64, stock int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if token < s.highest {
		return errStale
	}
	s.highest, s.stock = token, stock
	return nil
}

// A holder that was paused until its lease had run out still believes that it holds the lock. The store refuses its token.
func ExampleEngine_FencedMutex() {
	ctx := context.Background()
	redis := enginetest.Start() // a Redis in memory, so that the example runs anywhere
	defer redis.Close()
	e, _ := redis.Open(ctx, engine.Options{})
	defer e.Close()
	shelf := &store{}

	slow, _ := e.FencedMutex("shelf:7").Lock(ctx)
	redis.Lose("shelf:7") // the lease of slow has run out, but slow has not noticed
	other, _ := redis.Open(ctx, engine.Options{})
	defer other.Close()
	quick, _ := other.FencedMutex("shelf:7").Lock(ctx)

	token, _ := quick.Token()
	fmt.Println("quick writes:", shelf.write(token, 3))
	token, _ = slow.Token()
	fmt.Println("slow writes:", shelf.write(token, 8))
	fmt.Println("on the shelf:", shelf.stock)
	// Output:
	// quick writes: <nil>
	// slow writes: stale token
	// on the shelf: 3
}
