package migration

import (
	"context"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"

	"github.com/wheellock/wheellock/engine"
)

func rueidislockBefore(ctx context.Context, locker rueidislock.Locker, restock work) error {
	ctx, unlock, err := locker.WithContext(ctx, "stock:7")
	if err != nil {
		return err
	}
	defer unlock()
	return restock(ctx)
}

func rueidislockBoth(ctx context.Context, locker rueidislock.Locker, e *engine.Engine, restock work) error {
	ctx, unlock, err := locker.WithContext(ctx, "stock:7")
	if err != nil {
		return err
	}
	defer unlock()
	return engine.Do(ctx, e.Mutex("locks:stock:7"), func(ctx context.Context, _ *engine.Hold) error {
		return restock(ctx)
	})
}

// rueidislockFleet are the versions of a program that comes from rueidislock.
func rueidislockFleet(t *testing.T, addr string) versions {
	locker, err := rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption: rueidis.ClientOption{InitAddress: []string{addr}},
		KeyMajority:  1, NoLoopTracking: true, // as its README says for one Redis
		KeyValidity: 30 * time.Second, TryNextAfter: time.Second, // for a busy machine
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(locker.Close)
	return versions{
		before: func(ctx context.Context, _ *engine.Engine, w work) error { return rueidislockBefore(ctx, locker, w) },
		both:   func(ctx context.Context, e *engine.Engine, w work) error { return rueidislockBoth(ctx, locker, e, w) },
	}
}
