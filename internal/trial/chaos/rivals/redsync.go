package rivals

import (
	"context"
	"errors"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

// redSync polls, says how long a lock is valid, and leaves renewing to its user.
type redSync struct {
	client *redis.Client
	sync   *redsync.Redsync
	lease  time.Duration
}

func openRedsync(with goRedis) func(login) (rival, error) {
	return func(l login) (rival, error) {
		client := with.connect(l)
		return &redSync{client, redsync.New(goredis.NewPool(client)), l.lease}, nil
	}
}

// lock has more tries than any ctx here lasts.
func (r *redSync) lock(ctx context.Context, name string) (hold, error) {
	m := r.sync.NewMutex(name, redsync.WithExpiry(r.lease), redsync.WithTries(10_000))
	return r.held(m, m.LockContext(ctx))
}

func (r *redSync) try(ctx context.Context, name string) (hold, error) {
	m := r.sync.NewMutex(name, redsync.WithExpiry(r.lease))
	return r.held(m, m.TryLockContext(ctx))
}

// held renews as careful.go does, by the time that redsync itself gives.
func (r *redSync) held(m *redsync.Mutex, err error) (hold, error) {
	if err != nil {
		return hold{}, err
	}
	refresh := func(ctx context.Context) (time.Time, error) {
		extended, err := m.ExtendContext(ctx)
		if err == nil && !extended {
			err = redsync.ErrExtendFailed
		}
		return m.Until(), err
	}
	refused := func(err error) bool {
		_, taken := errors.AsType[*redsync.ErrTaken](err)
		return taken || errors.Is(err, redsync.ErrExtendFailed)
	}
	work, end := context.WithCancel(background)
	until := m.Until()
	go keep(work, end, until, r.lease, refresh, refused)
	return hold{work.Done(), func(ctx context.Context) error {
		end()
		_, err := m.UnlockContext(ctx)
		return err
	}}, nil
}

func (r *redSync) key(name string) string { return name }

func (r *redSync) close() { _ = r.client.Close() }
