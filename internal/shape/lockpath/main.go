// Command lockpath takes one lock that nobody else wants, and gives it back, many times, one after the other. What runs as often
// is what one Lock and Unlock run.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/engine"
)

func main() {
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(addr, times string) error {
	n, err := strconv.Atoi(times)
	if err != nil {
		return err
	}
	ctx := context.Background()
	e, err := engine.Open(ctx, engine.Options{Redis: rueidis.ClientOption{InitAddress: []string{addr}}})
	if err != nil {
		return err
	}
	for range n {
		hold, err := e.Mutex("shape").Lock(ctx)
		if err != nil {
			return err
		}
		if err := hold.Unlock(ctx); err != nil {
			return err
		}
	}
	return e.Close()
}
