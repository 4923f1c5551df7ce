package engine_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/engine/enginetest"
)

// oneAtATime serves one request of each tenant at a time, on all gateways together. A request has a deadline for all its
// work, and may spend half of that time in the queue.
func oneAtATime(e *engine.Engine, budget time.Duration, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), budget)
		defer cancel()
		hold, err := e.Mutex("tenant:"+r.Header.Get("Tenant")).Lock(ctx, engine.WithWait(budget/2))
		switch {
		case errors.Is(err, engine.ErrInvalid):
			http.Error(w, "no such tenant", http.StatusBadRequest)
			return
		case errors.Is(err, engine.ErrHeld): // until WithWait was over
			w.Header().Set("Retry-After", "1")
			http.Error(w, "busy", http.StatusServiceUnavailable)
			return
		case err != nil: // Redis is ill, or the client has gone
			http.Error(w, "try again", http.StatusServiceUnavailable)
			return
		}
		defer hold.UnlockAsync()                            // also when the client has gone; a frozen Redis delays no answer
		next.ServeHTTP(w, r.WithContext(hold.Context(ctx))) // ends when the lock is lost
	})
}

// A gateway's middleware: a lock and a deadline for each request.
func Example_gateway() {
	redis := enginetest.Start() // a Redis in memory, so that the example runs anywhere
	defer redis.Close()
	e, err := redis.Open(context.Background(), engine.Options{})
	if err != nil {
		panic(err)
	}
	defer e.Close()

	gateway := oneAtATime(e, 4*time.Second, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "served")
	}))
	get := func(tenant string) {
		r := httptest.NewRequest("GET", "/orders", nil)
		r.Header.Set("Tenant", tenant)
		w := httptest.NewRecorder()
		gateway.ServeHTTP(w, r)
		fmt.Println(tenant, w.Code, strings.TrimSpace(w.Body.String()))
	}

	get("acme")
	other, _ := e.Mutex("tenant:acme").Lock(context.Background()) // another gateway is at it
	get("acme")
	get("globex")
	other.Unlock(context.Background())
	get("acme")
	// Output:
	// acme 200 served
	// acme 503 busy
	// globex 200 served
	// acme 200 served
}
