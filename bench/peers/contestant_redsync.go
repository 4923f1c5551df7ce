package main

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"

	"github.com/wheellock/wheellock/internal/load"
)

var redsyncEntry = entry{
	name:     "redsync",
	module:   "github.com/go-redsync/redsync/v4",
	settings: "a go-redis client with its default pool for each server; its default delay between tries, 50-250 ms by chance; 200 tries",
	lacks:    "polls instead of being woken; no renewal, no fencing token; order of waiters is by chance",
	title:    "redsync",
	commands: []string{"hello", "set"},
	open:     openRedsync,
	takes:    func(w work) bool { return w.plain() || w.Kind == quorum },
	guard:    guardByRedsync,
	guarded:  "a lease of 5 s; its default delay between tries, 50-250 ms by chance; " + heedfulSettings,
}

// redsyncTries bounds the wait: 200 tries at 150 ms on average are longWait.
const redsyncTries = int(longWait / (150 * time.Millisecond))

type redSync struct {
	clients []goRedisClient
	sync    *redsync.Redsync
}

func openRedsync(urls string) (load.Library, error) {
	r := &redSync{}
	var pools []redis.Pool
	for url := range strings.SplitSeq(urls, ",") {
		client, err := goRedis(url)
		if err != nil {
			return nil, err
		}
		r.clients = append(r.clients, client)
		pools = append(pools, goredis.NewPool(client))
	}
	r.sync = redsync.New(pools...)
	return r, nil
}

func (r *redSync) Lock(ctx context.Context, name string) (load.Grant, error) {
	mutex := r.sync.NewMutex(name, redsync.WithExpiry(lease), redsync.WithTries(redsyncTries))
	return redsyncHold{mutex}, mutex.LockContext(ctx)
}

type redsyncHold struct{ *redsync.Mutex }

func (h redsyncHold) Unlock(ctx context.Context) error {
	_, err := h.UnlockContext(ctx)
	return err
}

func guardByRedsync(url string, work http.Handler) (site, error) {
	client, err := heedful(url)
	if err != nil {
		return site{}, err
	}
	sync := redsync.New(goredis.NewPool(client))
	take := func(ctx context.Context, name string) (func(context.Context), error) {
		mutex := sync.NewMutex(name, redsync.WithExpiry(guardLease))
		return func(ctx context.Context) { _, _ = mutex.UnlockContext(ctx) }, mutex.LockContext(ctx) // its end is the lease's
	}
	return site{Handler: guard(take, work), close: func() { client.Close() }}, nil
}

func (r *redSync) Close() {
	for _, client := range r.clients {
		client.Close()
	}
}
