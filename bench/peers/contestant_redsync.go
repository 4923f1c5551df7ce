package main

import (
	"context"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

var redsyncEntry = entry{
	name:     "redsync",
	module:   "github.com/go-redsync/redsync/v4",
	settings: "one go-redis client with its default pool; its default delay between tries, 50-250 ms by chance; 200 tries",
	lacks:    "polls instead of being woken; no renewal, no fencing token; order of waiters is by chance",
	title:    "redsync",
	commands: []string{"hello", "set"},
	open:     func(work) Contestant { return &redSync{} },
}

// redsyncTries bounds the wait: 200 tries at 150 ms on average are longWait.
const redsyncTries = int(longWait / (150 * time.Millisecond))

type redSync struct {
	client redis.UniversalClient
	sync   *redsync.Redsync
}

func (r *redSync) Open(url string) error {
	client, err := goRedis(url)
	if err != nil {
		return err
	}
	r.client = client
	r.sync = redsync.New(goredis.NewPool(r.client))
	return nil
}

func (r *redSync) Pair(ctx context.Context, name string, inside func()) error {
	mutex := r.sync.NewMutex(name, redsync.WithExpiry(lease), redsync.WithTries(redsyncTries))
	if err := mutex.LockContext(ctx); err != nil {
		return err
	}
	inside()
	_, err := mutex.UnlockContext(ctx)
	return err
}

func (r *redSync) Close() { r.client.Close() }
