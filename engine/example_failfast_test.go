package engine_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/engine/enginetest"
)

// Wait for another owner, and not for Redis: the call fails as soon as the engine knows that Redis is out of reach.
func ExampleWithFailFast() {
	redis := enginetest.Start() // a Redis in memory, so that the example runs anywhere
	defer redis.Close()
	ctx := context.Background()
	e, err := redis.Open(ctx, engine.Options{})
	if err != nil {
		panic(err)
	}
	defer e.Close()

	hold, _ := e.Mutex("stock:7").Lock(ctx)
	waiter := e.Mutex("stock:7").LockAsync(ctx, engine.WithFailFast(), engine.WithWait(time.Minute))
	redis.SetDown(true)
	_, err = waiter.Wait(ctx)
	fmt.Println("who waited may try elsewhere:", errors.Is(err, engine.ErrUnavailable))
	_, err = e.Mutex("stock:8").Lock(ctx, engine.WithFailFast())
	fmt.Println("who comes later is told at once:", errors.Is(err, engine.ErrNotSent))
	redis.SetDown(false)
	fmt.Println("the holder has lost nothing:", hold.Unlock(ctx) == nil)
	// Output:
	// who waited may try elsewhere: true
	// who comes later is told at once: true
	// the holder has lost nothing: true
}

// A bound for the callers of this process that wait for one name: the next one is told at once.
func ExampleWithQueue() {
	redis := enginetest.Start() // a Redis in memory, so that the example runs anywhere
	defer redis.Close()
	ctx := context.Background()
	e, err := redis.Open(ctx, engine.Options{})
	if err != nil {
		panic(err)
	}
	defer e.Close()

	tenant := e.Mutex("tenant:acme")
	hold, _ := tenant.Lock(ctx, engine.WithQueue(1))
	waiter := tenant.LockAsync(ctx, engine.WithQueue(1))
	_, err = tenant.Lock(ctx, engine.WithQueue(1))
	fmt.Println("one waits already:", errors.Is(err, engine.ErrOverloaded))
	hold.Unlock(ctx)
	hold, err = waiter.Wait(ctx)
	fmt.Println("that one gets its turn:", err == nil)
	hold.Unlock(ctx)
	// Output:
	// one waits already: true
	// that one gets its turn: true
}

// A readiness probe.
func ExampleEngine_Up() {
	redis := enginetest.Start() // a Redis in memory, so that the example runs anywhere
	defer redis.Close()
	e, err := redis.Open(context.Background(), engine.Options{})
	if err != nil {
		panic(err)
	}
	defer e.Close()

	ready := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if !e.Up() {
			http.Error(w, "Redis is out of reach", http.StatusServiceUnavailable)
		}
	})
	answer := httptest.NewRecorder()
	ready.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/ready", nil))
	fmt.Println(answer.Code)
	// Output: 200
}
