package rivals

import (
	"context"
	"time"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
)

// rueidisLock renews by itself, every half of the lease as its default is, and is told of changes by Redis' tracking.
type rueidisLock struct{ locker rueidislock.Locker }

func openRueidislock(l login) (rival, error) {
	locker, err := rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption:   rueidis.ClientOption{InitAddress: []string{l.addr}, Username: l.user, Password: l.password},
		KeyValidity:    l.lease,
		KeyMajority:    1,
		NoLoopTracking: true,
		// The default of 20 ms is also the time-out of every acquire. A caller whose command took longer goes to
		// sleep and is not woken for a name that nobody else touches (rueidis issues 630 and 653).
		TryNextAfter: time.Second,
	})
	return rueidisLock{locker}, err
}

func (r rueidisLock) lock(ctx context.Context, name string) (hold, error) {
	return theirs(r.locker.WithContext(ctx, name))
}

func (r rueidisLock) try(ctx context.Context, name string) (hold, error) {
	return theirs(r.locker.TryWithContext(ctx, name))
}

// theirs waits for the release as long as ctx allows; the library's own goes on until it is done, and tells no error.
func theirs(work context.Context, release context.CancelFunc, err error) (hold, error) {
	if err != nil {
		return hold{}, err
	}
	return hold{work.Done(), func(ctx context.Context) error {
		done := make(chan struct{})
		go func() { release(); close(done) }()
		select {
		case <-done:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}}, nil
}

func (r rueidisLock) key(name string) string { return "rueidislock:0:" + name }

func (r rueidisLock) close() { r.locker.Close() }
