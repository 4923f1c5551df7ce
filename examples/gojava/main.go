// Go and Java take from one stock under one lock. Each reads the stock, takes one and writes it, 100 times; no item is taken twice.
// See README.md beside the folder for how to run both.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"strconv"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/engine"
)

func main() {
	url := flag.String("redis", "redis://127.0.0.1:6379", "URL of Redis")
	take := flag.Int("take", 100, "items to take")
	flag.Parse()
	log.SetFlags(0)
	if err := run(context.Background(), *url, *take); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, url string, take int) error {
	opts, err := engine.ParseURL(url)
	if err != nil {
		return err
	}
	e, err := engine.Open(ctx, opts)
	if err != nil {
		return err
	}
	defer e.Close()
	client, err := rueidis.NewClient(opts.Redis)
	if err != nil {
		return err
	}
	defer client.Close()

	lock := e.Mutex("stock:7") // redisson.getLock("stock:7")
	for range take {
		err := engine.Do(ctx, lock, func(ctx context.Context, _ *engine.Hold) error {
			stock, err := client.Do(ctx, client.B().Get().Key("stock:7:count").Build()).AsInt64()
			if err != nil && !rueidis.IsRedisNil(err) {
				return err
			}
			return client.Do(ctx, client.B().Set().Key("stock:7:count").Value(strconv.FormatInt(stock-1, 10)).Build()).Error()
		})
		if err != nil {
			return err
		}
	}
	fmt.Printf("go: took %d\n", take)
	return nil
}
