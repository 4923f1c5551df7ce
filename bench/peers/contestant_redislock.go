package main

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"

	"github.com/wheellock/wheellock/internal/load"
)

const redislockLacks = "polls instead of being woken; no renewal; a fencing token only after this release; order of waiters is by chance"

var (
	redislockEntry = entry{
		name:     "redislock",
		module:   "github.com/bsm/redislock",
		settings: "go-redis with its default pool; exponential back-off from 16 ms, the least its manual recommends, to 250 ms",
		lacks:    redislockLacks,
		title:    "redislock",
		commands: []string{"hello"},
		open:     func(url string) (load.Library, error) { return openRedislock(url, backOff, nil) },
		guard:    guardByRedislock,
		guarded:  "a lease of 5 s; exponential back-off from 16 ms to 250 ms; " + heedfulSettings,
	}
	redislockEachMsEntry = entry{
		name:     "redislock 1ms",
		module:   "github.com/bsm/redislock",
		settings: "as redislock, but each waiter polls each millisecond",
		lacks:    "as redislock",
		title:    "redislock, each ms",
		commands: []string{"hello"},
		open:     func(url string) (load.Library, error) { return openRedislock(url, eachMillisecond, nil) },
		takes:    func(w work) bool { return w.Fleet && w.Kind == "" },
	}
	redislockAutoPipelineEntry = entry{
		name:     "redislock+ap",
		module:   "github.com/redis/go-redis/v9",
		settings: "as redislock, on go-redis' experimental AutoPipeline with 8 unordered batches, as its README shows",
		lacks:    "as redislock; contexts are not heeded once a command is queued",
		title:    "redislock, pipelined",
		commands: []string{"hello"},
		open: func(url string) (load.Library, error) {
			return openRedislock(url, backOff, &redis.AutoPipelineOptions{MaxConcurrentBatches: 8, Unordered: true})
		},
		takes: func(w work) bool { return w.Load == blocking && w.Kind == "" && !w.Fleet }, // a lone caller has nothing to pipeline
	}
)

// redisLock polls.
type redisLock struct {
	again  func() redislock.RetryStrategy // when a refused caller asks again
	client redis.UniversalClient
	locker *redislock.Client
}

// openRedislock opens one on a client that pipelines by itself, if it is told how.
func openRedislock(url string, again func() redislock.RetryStrategy, pipeline *redis.AutoPipelineOptions) (load.Library, error) {
	client, err := goRedis(url)
	if err != nil || pipeline == nil {
		return &redisLock{again, client, redislock.New(client)}, err
	}
	pipelined, err := client.AutoPipelineWithOptions(pipeline)
	return &redisLock{again, client, redislock.New(pipelined)}, err
}

// goRedisClient is a client of go-redis, of one server or of a cluster.
type goRedisClient interface {
	redis.UniversalClient
	AutoPipelineWithOptions(*redis.AutoPipelineOptions) (*redis.AutoPipeliner, error)
}

// goRedis opens one with its default pool.
func goRedis(url string) (goRedisClient, error) {
	settings, err := redis.ParseURL(url)
	if err != nil {
		return nil, err
	}
	one := redis.NewClient(settings)
	said, err := one.Info(context.Background(), "cluster").Result()
	if err != nil || !strings.Contains(said, "cluster_enabled:1") {
		return one, err
	}
	return redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{settings.Addr}}), one.Close()
}

const heedfulSettings = "go-redis with its default pool and ContextTimeoutEnabled"

// heedful opens a client of go-redis that heeds deadlines, by sentinels if the URL names them as rueidis' URLs do.
func heedful(where string) (redis.UniversalClient, error) {
	u, err := url.Parse(where)
	if err != nil {
		return nil, err
	}
	client := redis.NewUniversalClient(&redis.UniversalOptions{
		Addrs: append([]string{u.Host}, u.Query()["addr"]...), MasterName: u.Query().Get("master_set"), ContextTimeoutEnabled: true,
	})
	return client, client.Ping(context.Background()).Err()
}

func guardByRedislock(url string, work http.Handler) (site, error) {
	client, err := heedful(url)
	if err != nil {
		return site{}, err
	}
	locker := redislock.New(client)
	take := func(ctx context.Context, name string) (func(context.Context), error) {
		lock, err := locker.Obtain(ctx, name, guardLease, &redislock.Options{RetryStrategy: backOff()})
		return func(ctx context.Context) { _ = lock.Release(ctx) }, err // its end is the lease's
	}
	return site{Handler: guard(take, work), close: func() { client.Close() }}, nil
}

// Lock lets Obtain wait as long as the lease, which it does by itself when ctx has no deadline: that is longWait.
func (r *redisLock) Lock(ctx context.Context, name string) (load.Grant, error) {
	lock, err := r.locker.Obtain(ctx, name, lease, &redislock.Options{RetryStrategy: r.again()})
	return redislockHold{lock}, err
}

type redislockHold struct{ *redislock.Lock }

func (h redislockHold) Unlock(ctx context.Context) error { return h.Release(ctx) }

func backOff() redislock.RetryStrategy {
	return redislock.ExponentialBackoff(16*time.Millisecond, 250*time.Millisecond)
}

func eachMillisecond() redislock.RetryStrategy { return redislock.LinearBackoff(time.Millisecond) }

func (r *redisLock) Close() { r.client.Close() }
