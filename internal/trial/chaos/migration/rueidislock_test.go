package migration

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
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
	asking := askingAgain{newRueidislock(t, rueidis.ClientOption{InitAddress: []string{addr}})}
	return versions{
		before: func(ctx context.Context, _ *engine.Engine, w work) error { return rueidislockBefore(ctx, asking, w) },
		both:   func(ctx context.Context, e *engine.Engine, w work) error { return rueidislockBoth(ctx, asking, e, w) },
		after:  after,
	}
}

func rueidislockTry(ctx context.Context, locker rueidislock.Locker, restock work) error {
	ctx, unlock, err := locker.TryWithContext(ctx, "stock:7")
	if errors.Is(err, rueidislock.ErrNotLocked) {
		return nil // another process restocks
	} else if err != nil {
		return err
	}
	defer unlock()
	return restock(ctx)
}

func rueidislockTryBoth(ctx context.Context, locker rueidislock.Locker, e *engine.Engine, restock work) error {
	return rueidislockTry(ctx, locker, func(ctx context.Context) error { return tryAfter(ctx, e, restock) })
}

// rueidislockTryFleet are the versions of one that does not wait.
func rueidislockTryFleet(t *testing.T, addr string) versions {
	locker := newRueidislock(t, rueidis.ClientOption{InitAddress: []string{addr}})
	return versions{
		before: func(ctx context.Context, _ *engine.Engine, w work) error { return rueidislockTry(ctx, locker, w) },
		both: func(ctx context.Context, e *engine.Engine, w work) error {
			return rueidislockTryBoth(ctx, locker, e, w)
		},
		after: tryAfter,
	}
}

func newRueidislock(t *testing.T, redis rueidis.ClientOption) rueidislock.Locker {
	locker, err := rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption: redis,
		KeyMajority:  1, NoLoopTracking: true, // as its README says for one Redis
		KeyValidity: 30 * time.Second, TryNextAfter: time.Second, // for a busy machine
	})
	testkit.Must(t, err)
	t.Cleanup(locker.Close)
	return locker
}

// The options of rueidislock's client are those of an engine.
func TestRueidislocksClientOptionOpensAnEngine(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	server.MustDo("ACL", "SETUSER", "app", "on", ">secret", "~*", "&*", "+@all")
	redis := rueidis.ClientOption{InitAddress: []string{server.Addr()}, Username: "app", Password: "secret", ClientName: "stock"}
	_, unlock, err := newRueidislock(t, redis).TryWithContext(t.Context(), "stock:7")
	testkit.Must(t, err)
	defer unlock()
	e, err := engine.Open(t.Context(), engine.Options{Redis: redis})
	testkit.Must(t, err)
	t.Cleanup(func() { e.Close() })
	testkit.MustUnlock(t, testkit.MustLock(t, e.Mutex("locks:stock:7")))
}

// askingAgain does not sleep for ever where rueidislock does: when a try is refused, a goroutine may take the waiter's channel out of the
// table (try's monitoring, if it sees failures before the try has counted its own), and no message wakes the waiter. The context is
// cancelled, because a deadline would bound the hold, too.
type askingAgain struct{ rueidislock.Locker }

func (l askingAgain) WithContext(ctx context.Context, name string) (context.Context, context.CancelFunc, error) {
	for {
		asking, stop := context.WithCancel(ctx)
		alarm := time.AfterFunc(time.Second, stop)
		held, unlock, err := l.Locker.WithContext(asking, name)
		switch inTime := alarm.Stop(); {
		case err == nil && inTime:
			return held, func() { unlock(); stop() }, nil
		case err == nil:
			unlock() // the context of this hold has just ended
		case inTime || ctx.Err() != nil:
			stop()
			return nil, nil, err
		}
	}
}
