package httplock_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/engine/enginetest"

	"github.com/wheellock/wheellock/contrib/httplock"
)

// A client that repeats an order while it is being placed is told to come again.
func Example() {
	redis := enginetest.Start() // in memory; a program calls engine.Open
	defer redis.Close()
	e, err := redis.Open(context.Background(), engine.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	exclusive, err := httplock.New(e, httplock.Options{})
	if err != nil {
		log.Fatal(err)
	}

	var orders http.Handler
	order := func() *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodPost, "/orders", nil)
		r.Header.Set("Idempotency-Key", "8e03978e")
		answer := httptest.NewRecorder()
		orders.ServeHTTP(answer, r)
		return answer
	}
	orders = exclusive(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		again := order()
		fmt.Println("the repetition:", again.Code, "Retry-After", again.Header().Get("Retry-After"))
	}))
	fmt.Println("the order:", order().Code)
	// Output:
	// the repetition: 409 Retry-After 1
	// the order: 200
}

// A tenant has at most two requests served at a time, in all processes. The third is told to come again.
func ExampleLimit() {
	redis := enginetest.Start() // in memory; a program calls engine.Open
	defer redis.Close()
	e, err := redis.Open(context.Background(), engine.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	limit, err := httplock.Limit(e, httplock.LimitOptions{
		Key: func(r *http.Request) string { return r.Header.Get("X-Tenant") },
		N:   func(tenant string) int { return 2 },
	})
	if err != nil {
		log.Fatal(err)
	}

	var reports http.Handler
	report := func() *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodGet, "/reports", nil)
		r.Header.Set("X-Tenant", "acme")
		answer := httptest.NewRecorder()
		reports.ServeHTTP(answer, r)
		return answer
	}
	inside := 0
	reports = limit(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		inside++
		another := report()
		fmt.Println("beside", inside, "of them:", another.Code, "Retry-After", another.Header().Get("Retry-After"))
		inside--
	}))
	report()
	// Output:
	// beside 2 of them: 429 Retry-After 1
	// beside 1 of them: 200 Retry-After
}
