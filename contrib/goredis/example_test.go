package goredis_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/redis/go-redis/v9"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/testkit/redisserver"

	"github.com/wheellock/wheellock/contrib/goredis"
)

// A program that has a client for its data gets locks in the same Redis.
func Example() {
	addr, stop := startRedis() // a program has one
	defer stop()
	client := redis.NewClient(&redis.Options{Addr: addr, DB: 3})
	defer client.Close()

	opts, err := goredis.Options(client)
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	e, err := engine.Open(ctx, opts)
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()

	hold, err := e.Mutex("stock:7").Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer hold.Unlock(ctx)
	owners, err := client.HKeys(ctx, "stock:7").Result()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("the lock is in the client's database:", owners[0] == hold.TenureID())
	// Output: the lock is in the client's database: true
}

// startRedis starts a redis-server.
func startRedis() (addr string, stop func()) {
	dir, err := os.MkdirTemp("", "goredis")
	if err != nil {
		log.Fatal(err)
	}
	server := &redisserver.Server{Program: []string{"redis-server"}, Dir: dir}
	if err := server.Start(context.Background()); err != nil {
		log.Fatal(err)
	}
	return redisserver.Loopback(server.Port), func() { server.Kill(); os.RemoveAll(dir) }
}
