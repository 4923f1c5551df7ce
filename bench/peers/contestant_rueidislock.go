package main

import (
	"context"
	"net/http"
	"time"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"

	"github.com/wheellock/wheellock/internal/load"
)

var rueidislockEntry = entry{
	name:     "rueidislock",
	module:   "github.com/redis/rueidis",
	settings: "KeyMajority 1, NoLoopTracking, as its README says for one Redis; TryNextAfter 1 s, as its author advises; MaxFlushDelay 20 µs",
	lacks:    "no fencing token, no bound on one call's wait but its context's, no lease per call; order of waiters is by chance",
	title:    "rueidislock",
	commands: []string{"client|tracking", "hello"},
	open:     func(url string) (load.Library, error) { return openRueidislock(url) },
	guard:    guardByRueidislock,
	guarded:  "WithContext as its README has it, under the context of the wait; KeyMajority 1, NoLoopTracking, TryNextAfter 1 s",
}

// rueidisLock renews by itself and wakes waiters by client-side caching, as wheellock does by pub/sub.
type rueidisLock struct{ rueidislock.Locker }

func openRueidislock(url string) (rueidisLock, error) {
	client, err := rueidis.ParseURL(url)
	if err != nil {
		return rueidisLock{}, err
	}
	client.MaxFlushDelay = 20 * time.Microsecond
	locker, err := rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption:   client,
		KeyValidity:    lease,
		KeyMajority:    1,
		NoLoopTracking: true,
		// The default of 20 ms is also the time-out of every acquire. A caller whose command took longer goes to
		// sleep and is not woken for a name that nobody else touches (rueidis issues 630 and 653).
		TryNextAfter: time.Second,
	})
	return rueidisLock{locker}, err
}

// Lock puts no deadline on ctx: in this library the deadline of the wait would be the deadline of the hold too.
func (r rueidisLock) Lock(ctx context.Context, name string) (load.Grant, error) {
	_, release, err := r.WithContext(ctx, name)
	return rueidisHold(release), err
}

type rueidisHold context.CancelFunc

// Unlock returns when Redis has answered.
func (h rueidisHold) Unlock(context.Context) error {
	h()
	return nil
}

// guardByRueidislock takes a lock that lasts no longer than the wait may last, as this library has it.
func guardByRueidislock(url string, work http.Handler) (site, error) {
	r, err := openRueidislock(url)
	take := func(ctx context.Context, name string) (func(context.Context), error) {
		_, release, err := r.WithContext(ctx, name)
		return func(context.Context) { release() }, err
	}
	return site{Handler: guard(take, work), close: r.Close}, err
}
