package rivals

import (
	"context"
	"errors"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"
)

// redisLock polls, and leaves renewing to its user.
type redisLock struct {
	client *redis.Client
	locker *redislock.Client
	lease  time.Duration
	renew  renewal
}

// A renewal keeps a lock until work ends, or ends work when it is lost. The lock lasts at least until until.
type renewal func(work context.Context, end context.CancelFunc, lock *redislock.Lock, until time.Time, lease time.Duration)

func openRedislock(with goRedis, renew renewal) func(login) (rival, error) {
	return func(l login) (rival, error) {
		client := with.connect(l)
		return &redisLock{client, redislock.New(client), l.lease, renew}, nil
	}
}

// lock gives Obtain the time of ten leases when ctx sets none: by itself it gives up after one.
func (r *redisLock) lock(ctx context.Context, name string) (hold, error) {
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, 10*r.lease)
		defer cancel()
	}
	return r.obtain(ctx, name, redislock.ExponentialBackoff(16*time.Millisecond, 250*time.Millisecond))
}

func (r *redisLock) try(ctx context.Context, name string) (hold, error) {
	return r.obtain(ctx, name, redislock.NoRetry())
}

// obtain does not know when the try that succeeded was sent. After a long wait it refreshes to know it.
func (r *redisLock) obtain(ctx context.Context, name string, strategy redislock.RetryStrategy) (hold, error) {
	sent := time.Now()
	lock, err := r.locker.Obtain(ctx, name, r.lease, &redislock.Options{RetryStrategy: strategy})
	if err != nil {
		return hold{}, err
	}
	if time.Since(sent) > r.lease/3 {
		sent = time.Now()
		if err := lock.Refresh(ctx, r.lease, nil); err != nil {
			return hold{}, errors.Join(err, lock.Release(context.WithoutCancel(ctx)))
		}
	}
	work, end := context.WithCancel(background)
	go r.renew(work, end, lock, sent.Add(r.lease), r.lease)
	return hold{work.Done(), func(ctx context.Context) error { end(); return lock.Release(ctx) }}, nil
}

// careful renews as careful.go does.
func careful(work context.Context, end context.CancelFunc, lock *redislock.Lock, until time.Time, lease time.Duration) {
	refresh := func(ctx context.Context) (time.Time, error) {
		sent := time.Now()
		err := lock.Refresh(ctx, lease, nil)
		return sent.Add(lease - lease/reserve), err
	}
	refused := func(err error) bool { return errors.Is(err, redislock.ErrNotObtained) }
	keep(work, end, until.Add(-lease/reserve), lease, refresh, refused)
}

// readme is the watchdog of redislock's README.
func readme(work context.Context, end context.CancelFunc, lock *redislock.Lock, _ time.Time, lease time.Duration) {
	defer end()
	tick := time.NewTicker(lease / 3)
	defer tick.Stop()
	for {
		select {
		case <-work.Done():
			return
		case <-tick.C:
			if err := lock.Refresh(work, lease, nil); err != nil {
				return
			}
		}
	}
}

func (r *redisLock) key(name string) string { return name }

func (r *redisLock) close() { _ = r.client.Close() }
