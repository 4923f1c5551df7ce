package migration

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"

	"github.com/wheellock/wheellock/engine"
)

func redsyncBefore(ctx context.Context, rs *redsync.Redsync, restock work) error {
	lock := rs.NewMutex("stock:7", redsync.WithExpiry(30*time.Second), redsync.WithTries(1000), redsync.WithRetryDelay(20*time.Millisecond))
	if err := lock.LockContext(ctx); err != nil {
		return err
	}
	defer lock.UnlockContext(ctx)
	return restock(ctx) // within 30 s, because nobody renews the lock
}

func redsyncBoth(ctx context.Context, rs *redsync.Redsync, e *engine.Engine, restock work) error {
	old := rs.NewMutex("stock:7", redsync.WithExpiry(30*time.Second), redsync.WithTries(1000), redsync.WithRetryDelay(20*time.Millisecond))
	if err := old.LockContext(ctx); err != nil {
		return err
	}
	defer old.UnlockContext(ctx)
	return engine.Do(ctx, e.Mutex("locks:stock:7"), func(ctx context.Context, _ *engine.Hold) error {
		if _, err := old.ExtendContext(ctx); err != nil {
			return err // the old lock ended while the new one was waited for
		}
		return restock(ctx)
	})
}

// redsyncFleet are the versions of a program that comes from redsync.
func redsyncFleet(t *testing.T, addr string) versions {
	rs := newRedsync(t, addr)
	return versions{
		before: func(ctx context.Context, _ *engine.Engine, w work) error { return redsyncBefore(ctx, rs, w) },
		both:   func(ctx context.Context, e *engine.Engine, w work) error { return redsyncBoth(ctx, rs, e, w) },
		after:  after,
	}
}

func redsyncTry(ctx context.Context, rs *redsync.Redsync, restock work) error {
	old := rs.NewMutex("stock:7", redsync.WithExpiry(30*time.Second))
	err := old.TryLockContext(ctx)
	if taken := new(redsync.ErrTaken); errors.As(err, &taken) {
		return nil // another process restocks
	} else if err != nil {
		return err
	}
	defer old.UnlockContext(ctx)
	return restock(ctx)
}

func redsyncTryBoth(ctx context.Context, rs *redsync.Redsync, e *engine.Engine, restock work) error {
	return redsyncTry(ctx, rs, func(ctx context.Context) error { return tryAfter(ctx, e, restock) })
}

// redsyncTryFleet are the versions of one that does not wait.
func redsyncTryFleet(t *testing.T, addr string) versions {
	rs := newRedsync(t, addr)
	return versions{
		before: func(ctx context.Context, _ *engine.Engine, w work) error { return redsyncTry(ctx, rs, w) },
		both:   func(ctx context.Context, e *engine.Engine, w work) error { return redsyncTryBoth(ctx, rs, e, w) },
		after:  tryAfter,
	}
}

func newRedsync(t *testing.T, addr string) *redsync.Redsync {
	client := redis.NewClient(&redis.Options{Addr: addr})
	t.Cleanup(func() { client.Close() })
	return redsync.New(goredis.NewPool(client))
}
