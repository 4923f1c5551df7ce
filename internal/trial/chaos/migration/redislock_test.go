package migration

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"

	"github.com/wheellock/wheellock/engine"
)

func redislockBefore(ctx context.Context, locker *redislock.Client, restock work) error {
	lock, err := locker.Obtain(ctx, "stock:7", 30*time.Second, &redislock.Options{RetryStrategy: redislock.LinearBackoff(20 * time.Millisecond)})
	if err != nil {
		return err
	}
	defer lock.Release(ctx)
	return restock(ctx) // calls lock.Refresh if it takes longer than 30 s
}

func redislockBoth(ctx context.Context, locker *redislock.Client, e *engine.Engine, restock work) error {
	old, err := locker.Obtain(ctx, "stock:7", 30*time.Second, &redislock.Options{RetryStrategy: redislock.LinearBackoff(20 * time.Millisecond)})
	if err != nil {
		return err
	}
	defer old.Release(ctx)
	return engine.Do(ctx, e.Mutex("locks:stock:7"), func(ctx context.Context, _ *engine.Hold) error {
		if err := old.Refresh(ctx, 30*time.Second, nil); err != nil {
			return err // the old lock ended while the new one was waited for
		}
		return restock(ctx)
	})
}

// redislockFleet are the versions of a program that comes from redislock.
func redislockFleet(t *testing.T, addr string) versions {
	locker := newRedislock(t, addr)
	return versions{
		before: func(ctx context.Context, _ *engine.Engine, w work) error { return redislockBefore(ctx, locker, w) },
		both:   func(ctx context.Context, e *engine.Engine, w work) error { return redislockBoth(ctx, locker, e, w) },
		after:  after,
	}
}

func redislockTry(ctx context.Context, locker *redislock.Client, restock work) error {
	old, err := locker.Obtain(ctx, "stock:7", 30*time.Second, nil)
	if errors.Is(err, redislock.ErrNotObtained) {
		return nil // another process restocks
	} else if err != nil {
		return err
	}
	defer old.Release(ctx)
	return restock(ctx)
}

func redislockTryBoth(ctx context.Context, locker *redislock.Client, e *engine.Engine, restock work) error {
	return redislockTry(ctx, locker, func(ctx context.Context) error { return tryAfter(ctx, e, restock) })
}

// redislockTryFleet are the versions of one that does not wait.
func redislockTryFleet(t *testing.T, addr string) versions {
	locker := newRedislock(t, addr)
	return versions{
		before: func(ctx context.Context, _ *engine.Engine, w work) error { return redislockTry(ctx, locker, w) },
		both:   func(ctx context.Context, e *engine.Engine, w work) error { return redislockTryBoth(ctx, locker, e, w) },
		after:  tryAfter,
	}
}

func newRedislock(t *testing.T, addr string) *redislock.Client {
	client := redis.NewClient(&redis.Options{Addr: addr})
	t.Cleanup(func() { client.Close() })
	return redislock.New(client)
}
