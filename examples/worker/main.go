// A pool of workers that share a list of jobs with other processes. Each job is done once, by one worker. Start it twice:
//
//	go run ./worker & go run ./worker
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/engine"
)

func main() {
	url := flag.String("redis", "redis://127.0.0.1:6379", "URL of Redis")
	workers := flag.Int("workers", 4, "workers of this process")
	jobs := flag.Int("jobs", 20, "jobs in the list")
	flag.Parse()
	log.SetFlags(0)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *url, *workers, *jobs); err != nil && !errors.Is(err, context.Canceled) {
		log.Fatal(err)
	}
}

func run(ctx context.Context, url string, workers, jobs int) error {
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

	names := make(chan string, jobs)
	for i := range jobs {
		names <- fmt.Sprintf("job:%02d", i)
	}
	close(names)
	var pool sync.WaitGroup
	for range workers {
		pool.Go(func() {
			for name := range names {
				if ctx.Err() != nil {
					return // the rest is for other processes
				}
				if err := work(ctx, e, client, name); err != nil {
					log.Printf("%s: %v", name, err)
				}
			}
		})
	}
	pool.Wait()
	return ctx.Err()
}

// work does a job, unless another worker does it now or has done it.
func work(ctx context.Context, e *engine.Engine, client rueidis.Client, name string) error {
	hold, err := e.FencedMutex(name).TryLock(ctx)
	if errors.Is(err, engine.ErrHeld) {
		return nil // another worker has it
	} else if err != nil {
		return err
	}
	defer hold.Unlock(context.WithoutCancel(ctx)) // also when this process is asked to stop

	ctx = hold.Context(ctx) // ends when the lock is lost
	done, err := client.Do(ctx, client.B().Exists().Key(name+":done").Build()).AsBool()
	if done || err != nil {
		return err
	}
	select {
	case <-time.After(20 * time.Millisecond): // the work
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	// The note of a worker that was paused past its lease must not replace its successor's: the lower token is refused.
	token, _ := hold.Token()
	noted, err := note.Exec(ctx, client, []string{name + ":done"}, []string{fmt.Sprint(token)}).AsBool()
	if err == nil && noted {
		fmt.Printf("%s done by process %d with token %d\n", name, os.Getpid(), token)
	}
	return err
}

// note writes a token, unless a higher one is there.
var note = rueidis.NewLuaScript(`
if tonumber(redis.call('GET', KEYS[1]) or 0) >= tonumber(ARGV[1]) then return 0 end
redis.call('SET', KEYS[1], ARGV[1])
return 1`)
