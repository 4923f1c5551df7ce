package idempotency_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/contrib/idempotency"
	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/testkit/redisserver"
)

// A client that repeats its order, because it did not see the answer, gets the answer, and orders once.
func Example() {
	addr, stop := startRedis() // a program knows where its Redis is
	defer stop()
	ctx := context.Background()
	redis := rueidis.ClientOption{InitAddress: []string{addr}}
	e, err := engine.Open(ctx, engine.Options{Redis: redis})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	client, err := rueidis.NewClient(redis)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	type account struct{} // under which the authentication before this middleware puts the client
	once, err := idempotency.New(e, client, idempotency.Options{
		Client: func(r *http.Request) string { number, _ := r.Context().Value(account{}).(string); return number },
	})
	if err != nil {
		log.Fatal(err)
	}
	orders := once(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Println("ordering")
		w.Header().Set("Location", "/orders/7")
		w.WriteHeader(http.StatusCreated)
	}))

	order := func(number, what string) {
		r := httptest.NewRequest(http.MethodPost, "/orders", strings.NewReader(what)).WithContext(context.WithValue(ctx, account{}, number))
		r.Header.Set("Idempotency-Key", `"8e03978e-40d5-43dd-bc93-6894a57f9324"`)
		answer := httptest.NewRecorder()
		orders.ServeHTTP(answer, r)
		fmt.Println(answer.Code, "replayed:", answer.Header().Get("Idempotency-Replayed") == "true")
	}
	order("4711", "two apples")
	order("4711", "two apples")
	order("4711", "ten apples")
	order("4712", "two apples") // another client's key
	// Output:
	// ordering
	// 201 replayed: false
	// 201 replayed: true
	// 422 replayed: false
	// ordering
	// 201 replayed: false
}

// startRedis starts a redis-server for an example.
func startRedis() (addr string, stop func()) {
	dir, err := os.MkdirTemp("", "example")
	check(err)
	server := &redisserver.Server{Program: []string{"redis-server"}, Dir: dir}
	check(server.Start(context.Background()))
	return redisserver.Loopback(server.Port), func() {
		server.Kill()
		_ = os.RemoveAll(dir)
	}
}
