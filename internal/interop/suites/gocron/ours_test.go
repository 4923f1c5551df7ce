// Package gocron has the lockers and electors that gocron's own tests of several schedulers are run with: those of contrib/gocron.
package gocron

import (
	"context"
	"sync"
	"testing"
	"time"

	. "github.com/go-co-op/gocron/v2"
	"go.uber.org/goleak"

	wheelcron "github.com/wheellock/wheellock/contrib/gocron"
	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/engine/elect"
	"github.com/wheellock/wheellock/internal/interop/suites/servers"
	"github.com/wheellock/wheellock/internal/testkit"
)

// engines stand for three processes. They are open before a test begins to count seconds.
var engines []*engine.Engine

// before are the goroutines of the server.
var before = func() goleak.Option {
	servers.Addr(0)
	others := goleak.IgnoreCurrent()
	for range 3 {
		engines = append(engines, servers.Engine(0))
	}
	return others
}()

// campaigns end with the test.
var campaigns []*wheelcron.Elector

// turns gives each call to the next of the processes.
type turns[T any] struct {
	once sync.Once
	mu   sync.Mutex // guards the rest
	of   []T
	next int
}

func (t *turns[T]) take(open func(*engine.Engine) T) T {
	t.once.Do(func() {
		for _, e := range engines {
			t.of = append(t.of, open(e))
		}
	})
	t.mu.Lock()
	defer t.mu.Unlock()
	t.next++
	return t.of[t.next%len(t.of)]
}

// testLocker locks a job for two seconds at least.
type testLocker struct {
	turns[*wheelcron.Locker]
	notLocked chan struct{}
}

func (t *testLocker) Lock(ctx context.Context, job string) (Lock, error) {
	lock, err := t.take(func(e *engine.Engine) *wheelcron.Locker {
		locker, err := wheelcron.NewLocker(e, wheelcron.LockerOptions{MinHold: 2 * time.Second})
		if err != nil {
			panic(err)
		}
		return locker
	}).Lock(ctx, job)
	if err != nil {
		t.notLocked <- struct{}{}
	}
	return lock, err
}

// testElector has three candidates.
type testElector struct {
	turns[*wheelcron.Elector]
	elected   sync.Once
	notLeader chan struct{}
}

func (t *testElector) IsLeader(ctx context.Context) error {
	open := func(e *engine.Engine) *wheelcron.Elector {
		elector, err := wheelcron.NewElector(e, "jobs", elect.Options{})
		if err != nil {
			panic(err)
		}
		campaigns = append(campaigns, elector)
		return elector
	}
	t.elected.Do(func() {
		for t.take(open).IsLeader(ctx) != nil {
			time.Sleep(time.Millisecond)
		}
	})
	err := t.take(open).IsLeader(ctx)
	if err != nil {
		t.notLeader <- struct{}{}
	}
	return err
}

// errorLocker finds a job locked, by another process.
type errorLocker struct{}

func (errorLocker) Lock(ctx context.Context, job string) (Lock, error) {
	if _, err := engines[0].Mutex("gocron:" + job).Lock(ctx); err != nil {
		return nil, err
	}
	locker, err := wheelcron.NewLocker(engines[1], wheelcron.LockerOptions{})
	if err != nil {
		return nil, err
	}
	return locker.Lock(ctx, job)
}

// verifyNoGoroutineLeaks closes the engines and leaves out what importing an engine starts.
func verifyNoGoroutineLeaks(t *testing.T) {
	for _, c := range campaigns {
		c.Close()
	}
	for _, e := range engines {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
	goleak.VerifyNone(t, append(testkit.NotOurs, before)...)
}
