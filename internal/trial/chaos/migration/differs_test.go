package migration

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// ended is a context that has.
func ended() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// gaveUp is a strategy whose context ends in the first pause between two tries.
type gaveUp struct{ end context.CancelFunc }

func (g gaveUp) NextBackoff() time.Duration {
	g.end()
	return time.Hour
}

// is checks that an error is all of these.
func is(t *testing.T, what string, err error, all ...error) {
	t.Helper()
	for _, e := range all {
		if !errors.Is(err, e) {
			t.Errorf("%s: %v, want %v", what, err, e)
		}
	}
}

// taken checks whether a key is there, now or soon.
func taken(t *testing.T, server *redistest.Server, what, key string, want int64) {
	t.Helper()
	if want == 0 {
		redistest.Await(t, what+": the key to go", func() bool { return server.MustDo("EXISTS", key).Int == 0 })
	} else if server.MustDo("EXISTS", key).Int != want {
		t.Errorf("%s: the key has gone", what)
	}
}

// The tables of docs/MIGRATING.md say what these libraries and the engine do.
func TestWhatDiffers(t *testing.T) {
	t.Parallel()
	t.Run("redsync", redsyncDiffers)
	t.Run("redislock", redislockDiffers)
	t.Run("rueidislock", rueidislockDiffers)
	t.Run("wheellock", wheellockDiffers)
}

func redsyncDiffers(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	t.Cleanup(func() { client.Close() })
	pool := goredis.NewPool(client)
	rs := redsync.New(pool)

	lock := rs.NewMutex("a", redsync.WithExpiry(time.Hour))
	testkit.Must(t, lock.Lock())
	ctx, cancel := context.WithCancel(t.Context())
	pause := redsync.WithRetryDelayFunc(func(int) time.Duration { return gaveUp{cancel}.NextBackoff() })
	if err := rs.NewMutex("a", pause).LockContext(ctx); err != redsync.ErrFailed {
		t.Errorf("a wait whose context ends: %v", err)
	}
	if _, err := lock.UnlockContext(ended()); err == nil {
		t.Error("an unlock under a context that has ended succeeds")
	}
	taken(t, server, "after an unlock under a context that has ended", "a", 1)
	if ok, err := rs.NewMutex("a", redsync.WithValue(lock.Value())).Unlock(); !ok || err != nil {
		t.Errorf("an unlock by value: %v, %v", ok, err)
	}

	again := rs.NewMutex("b", redsync.WithExpiry(time.Hour), redsync.WithSetNXOnExtend())
	testkit.Must(t, again.Lock())
	server.MustDo("DEL", "b")
	if ok, err := again.Extend(); !ok || err != nil {
		t.Errorf("Extend of a lock that has ended: %v, %v", ok, err)
	}
}

func redislockDiffers(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	t.Cleanup(func() { client.Close() })
	ctx := testkit.Soon(t)

	lock, err := redislock.Obtain(ctx, client, "a", time.Hour, nil)
	testkit.Must(t, err)
	waiting, cancel := context.WithCancel(ctx)
	_, err = redislock.Obtain(waiting, client, "a", time.Hour, &redislock.Options{RetryStrategy: gaveUp{cancel}})
	is(t, "a wait whose context ends", err, redislock.ErrNotObtained, context.Canceled)
	_, err = redislock.Obtain(context.Background(), client, "a", time.Second, &redislock.Options{RetryStrategy: redislock.LinearBackoff(time.Hour)})
	is(t, "a wait of one TTL", err, redislock.ErrNotObtained, context.DeadlineExceeded)
	is(t, "Release under a context that has ended", lock.Release(ended()), context.Canceled)
	taken(t, server, "after Release under a context that has ended", "a", 1)
	if err := lock.Refresh(ctx, time.Minute, nil); err != nil {
		t.Error(err)
	}
	if ttl := server.MustDo("PTTL", "a").Int; ttl > time.Minute.Milliseconds() {
		t.Errorf("Refresh left %d ms", ttl)
	}
	if _, err := redislock.Obtain(ctx, client, "a", time.Hour, &redislock.Options{Token: lock.Token()}); err != nil {
		t.Errorf("the same token: %v", err)
	}
	server.MustDo("DEL", "a")
	is(t, "Refresh of a lock that has ended", lock.Refresh(ctx, time.Hour, nil), redislock.ErrNotObtained)
	is(t, "Release of a lock that has ended", lock.Release(ctx), redislock.ErrLockNotHeld)
	lock = nil
	is(t, "Release of no lock", lock.Release(ctx), redislock.ErrLockNotHeld)
}

func rueidislockDiffers(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	open := func() rueidislock.Locker {
		locker, err := rueidislock.NewLocker(rueidislock.LockerOption{
			ClientOption: rueidis.ClientOption{InitAddress: []string{server.Addr()}},
			KeyMajority:  1, NoLoopTracking: true, KeyValidity: time.Hour, TryNextAfter: testkit.Patience,
		})
		testkit.Must(t, err)
		t.Cleanup(locker.Close)
		return locker
	}
	locker, other := open(), open() // holders of a name in one locker may take each other's news of it
	hold := func(ctx context.Context, name string) (context.Context, context.CancelFunc) {
		held, unlock, err := locker.WithContext(ctx, name)
		testkit.Must(t, err)
		return held, unlock
	}

	ctx, cancel := context.WithCancel(t.Context())
	_, unlock := hold(ctx, "a")
	cancel()
	taken(t, server, "after the end of the caller's context", "rueidislock:0:a", 0)
	unlock()

	ctx, cancel = context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, unlock = hold(ctx, "b")
	if ttl := server.MustDo("PTTL", "rueidislock:0:b").Int; ttl > time.Minute.Milliseconds() {
		t.Errorf("a deadline of a minute left the key %d ms", ttl)
	}
	unlock()

	held, unlock := hold(t.Context(), "c")
	server.MustDo("DEL", "rueidislock:0:c")
	testkit.Receive(t, "the loss to be told, long before a renewal", held.Done())
	if cause := context.Cause(held); cause != context.Canceled {
		t.Errorf("the cause is %v", cause)
	}
	unlock()

	held, unlock = hold(t.Context(), "d")
	_, force, err := other.ForceWithContext(t.Context(), "d")
	testkit.Must(t, err)
	testkit.Receive(t, "the holder to be told", held.Done())
	unlock()
	force()
	_, force, err = other.ForceWithContext(t.Context(), "d")
	if err != nil {
		t.Fatalf("a force of a free name: %v", err)
	}
	force()
}

func wheellockDiffers(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	patient := func(o *engine.Options) { o.AnswerTimeout = testkit.Patience }
	e := testkit.Connect(t, server.Addr(), patient)
	other := testkit.Connect(t, server.Addr(), patient)
	watching := testkit.Connect(t, server.Addr(), patient, func(o *engine.Options) { o.Lease, o.WatchLoss = time.Hour, true })
	ctx := testkit.Soon(t)

	calling, cancel := context.WithCancel(ctx)
	hold, err := e.Mutex("a").Lock(calling)
	testkit.Must(t, err)
	work := hold.Context(calling)
	cancel()
	<-work.Done()
	taken(t, server, "after the end of the caller's context", "a", 1)
	if hold.Err() != nil {
		t.Errorf("the hold ends with the caller's context: %v", hold.Err())
	}
	waiting, giveUp := context.WithCancel(ctx)
	answer := other.Mutex("a").LockAsync(waiting)
	redistest.Await(t, "the caller to wait", func() bool { return len(server.MustDo("PUBSUB", "CHANNELS").Items) > 0 })
	giveUp()
	_, err = answer.Wait(ctx)
	is(t, "a wait whose context ends", err, engine.ErrHeld, context.Canceled)
	if err := hold.Unlock(ended()); err != nil {
		is(t, "Unlock under a context that has ended", err, engine.ErrUncertain)
	}
	taken(t, server, "after Unlock under a context that has ended", "a", 0)

	_, err = e.Mutex("b").Lock(ctx, engine.WithLease(9*time.Millisecond))
	is(t, "a short lease", err, engine.ErrInvalid)

	hold, err = e.Mutex("c").Lock(ctx, engine.WithLease(time.Hour))
	testkit.Must(t, err)
	if err := hold.Extend(ctx, time.Minute); err != nil {
		t.Error(err)
	}
	if ttl := server.MustDo("PTTL", "c").Int; ttl < time.Minute.Milliseconds() {
		t.Errorf("Extend left %d ms", ttl)
	}
	server.MustDo("DEL", "c")
	is(t, "Extend of a lock that has ended", hold.Extend(ctx, 2*time.Hour), engine.ErrLost)
	is(t, "Unlock of a lock that has ended", hold.Unlock(ctx), engine.ErrLost)

	work = testkit.MustLock(t, watching.Mutex("d")).Context(ctx)
	server.MustDo("DEL", "d")
	testkit.Receive(t, "the loss to be told, long before a renewal", work.Done())
	is(t, "the cause", context.Cause(work), engine.ErrLost)

	calling, cancel = context.WithCancel(ctx)
	given, err := e.Mutex("e").Lock(calling)
	testkit.Must(t, err)
	context.AfterFunc(calling, func() { given.UnlockAsync() })
	cancel()
	taken(t, server, "after the end of a context that gives the lock back", "e", 0)

	_, err = engine.Quorum("f", e, other)
	is(t, "two engines on one server", err, engine.ErrInvalid)
}
