// Package rueidislock has the API of github.com/redis/rueidis/rueidislock, by an engine, for rueidislock's own tests. A locker has an engine
// of its own, with WatchLoss where rueidislock would have its client-side cache, and gives a lock back when the caller's context ends.
package rueidislock

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/interop/suites/servers"
)

// What is no lock is rueidislock's.
type (
	Locker       = rueidislock.Locker
	LockerOption = rueidislock.LockerOption
)

var (
	ErrNotLocked    = rueidislock.ErrNotLocked
	ErrLockerClosed = rueidislock.ErrLockerClosed
)

// locker has the fields that the tests set or read.
type locker struct {
	prefix             string
	validity, interval time.Duration // interval is not heeded: the engine renews each third of the validity
	timeout            time.Duration // is not heeded
	majority, totalcnt int32         // an engine has one key for each name

	forcing sync.RWMutex // shared by calls that force: Close waits for them, because who is forced is told before they have succeeded

	mu    sync.RWMutex // guards gates
	gates map[string]*gate

	opts   LockerOption
	client rueidis.Client
	open   func() (*engine.Engine, error) // once: the tests set the validity before they lock
}

// gate stands for a name that was locked. Nothing depends on it.
type gate struct {
	ch chan struct{}
	w  int
}

func NewLocker(opts LockerOption) (Locker, error) {
	l := &locker{prefix: opts.KeyPrefix, validity: opts.KeyValidity, majority: opts.KeyMajority, opts: opts, gates: make(map[string]*gate)}
	if l.prefix == "" {
		l.prefix = "rueidislock"
	}
	if l.validity <= 0 {
		l.validity = 5 * time.Second
	}
	if l.majority <= 0 {
		l.majority = 2
	}
	l.totalcnt = 2*l.majority - 1
	build := opts.ClientBuilder
	if build == nil {
		build = rueidis.NewClient
	}
	var err error
	if l.client, err = build(opts.ClientOption); err != nil {
		return nil, err
	}
	l.open = sync.OnceValues(func() (*engine.Engine, error) {
		return servers.Open(rueidis.ClientOption{InitAddress: opts.ClientOption.InitAddress, SelectDB: opts.ClientOption.SelectDB},
			func(o *engine.Options) {
				o.Lease = l.validity
				o.WatchLoss = !opts.ClientOption.DisableCache
				o.NameMapper = func(name string) string { return keyname(l.prefix, name, 0) }
			})
	})
	return l, nil
}

func keyname(prefix, name string, i int32) string {
	return prefix + ":" + strconv.Itoa(int(i)) + ":" + name
}

func (l *locker) onInvalidations([]rueidis.RedisMessage) {}

func (l *locker) WithContext(ctx context.Context, name string) (context.Context, context.CancelFunc, error) {
	return l.hold(ctx, name, func(m *engine.Mutex) (*engine.Hold, error) { return m.Lock(ctx) })
}

func (l *locker) TryWithContext(ctx context.Context, name string) (context.Context, context.CancelFunc, error) {
	return l.hold(ctx, name, func(m *engine.Mutex) (*engine.Hold, error) { return m.TryLock(ctx) })
}

// ForceWithContext takes the place of the holder that it finds. If that one has gone meanwhile, it asks for the lock.
func (l *locker) ForceWithContext(ctx context.Context, name string) (context.Context, context.CancelFunc, error) {
	l.forcing.RLock()
	defer l.forcing.RUnlock()
	return l.hold(ctx, name, func(m *engine.Mutex) (*engine.Hold, error) {
		state, err := m.Inspect(ctx)
		if err != nil {
			return nil, err
		}
		if !state.Locked {
			return m.TryLock(ctx)
		}
		return m.Adopt(ctx, state.Owner)
	})
}

// hold makes contexts of holds.
func (l *locker) hold(ctx context.Context, name string, take func(*engine.Mutex) (*engine.Hold, error)) (context.Context, context.CancelFunc, error) {
	e, err := l.open()
	if err != nil {
		return nil, nil, err
	}
	l.mu.Lock()
	l.gates[name] = new(gate)
	l.mu.Unlock()
	hold, err := take(e.Mutex(name))
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return nil, nil, ctx.Err()
	case errors.Is(err, engine.ErrClosed):
		return nil, nil, ErrLockerClosed
	case errors.Is(err, engine.ErrHeld), errors.Is(err, engine.ErrLost):
		return nil, nil, fmt.Errorf("%w: %w", ErrNotLocked, err)
	default:
		return nil, nil, err
	}
	work := hold.Context(ctx)
	context.AfterFunc(work, func() { hold.UnlockAsync() })
	return work, func() { _ = hold.Unlock(context.Background()) }, nil
}

func (l *locker) Client() rueidis.Client { return l.client }

func (l *locker) Close() {
	l.forcing.Lock()
	defer l.forcing.Unlock()
	if e, err := l.open(); err == nil {
		_ = e.Close()
	}
	l.client.Close()
}
