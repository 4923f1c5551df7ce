// A job that runs every second in one process, the leader. When the leader stops or dies, another process goes on. Start it twice, and
// stop the one that prints:
//
//	go run ./cron & go run ./cron
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/engine/elect"
)

func main() {
	url := flag.String("redis", "redis://127.0.0.1:6379", "URL of Redis")
	every := flag.Duration("every", time.Second, "time between two runs")
	flag.Parse()
	log.SetFlags(0)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *url, *every); err != nil && !errors.Is(err, context.Canceled) {
		log.Fatal(err)
	}
}

func run(ctx context.Context, url string, every time.Duration) error {
	opts, err := engine.ParseURL(url)
	if err != nil {
		return err
	}
	opts.Lease = 6 * time.Second // after which another process leads, if this one dies
	e, err := engine.Open(ctx, opts)
	if err != nil {
		return err
	}
	defer e.Close()

	election := elect.New(e, "cron", elect.Options{})
	return election.Run(ctx, func(ctx context.Context, term int64) error {
		fmt.Printf("process %d leads in term %d\n", os.Getpid(), term)
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				fmt.Printf("process %d runs the job in term %d\n", os.Getpid(), term) // send the term with every write
			case <-ctx.Done(): // stopped, or not the leader any more
				fmt.Printf("process %d leads no more\n", os.Getpid())
				return context.Cause(ctx)
			}
		}
	})
}
