package faults_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/futures"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// The rule in SECURITY.md, and what options need besides, are read from there and proved here.

// limited is what runs as a user with a rule.
type limited struct {
	*testing.T
	server *redistest.Server
	opts   engine.Options
	lacks  string // the tour ends when something was refused for want of this right
}

// limit makes the user anew with a rule, and forgets what was refused before.
func limit(t *testing.T, server *redistest.Server, rule []string, opts engine.Options) *limited {
	t.Helper()
	server.MustDo(slices.Concat([]string{"ACL", "SETUSER", "locks", "reset", "on", ">password"}, rule)...)
	server.MustDo("ACL", "LOG", "RESET")
	opts.Redis.InitAddress = []string{server.Addr()}
	opts.Redis.Username, opts.Redis.Password = "locks", "password"
	opts.NameMapper = func(name string) string { return "app:" + name }
	opts.PollCap = time.Hour // only messages wake waiters
	return &limited{T: t, server: server, opts: opts}
}

// tour uses everything that an engine does, and then runs last. Its error is the first that came.
func (l *limited) tour(last func()) error {
	ctx, stop := context.WithTimeout(l.Context(), time.Minute)
	defer stop()
	var engines [2]*engine.Engine
	for i := range engines {
		e, err := testkit.Open(ctx, func(ctx context.Context) (*engine.Engine, error) { return engine.Open(ctx, l.opts) })
		if err != nil {
			return fmt.Errorf("Open: %w", err)
		}
		defer e.Close()
		engines[i] = e
	}
	ours, theirs := engines[0], engines[1]
	steps := []func() error{
		func() error { return l.force(ctx, ours.Mutex("stock:8"), theirs.Mutex("stock:8")) },
		func() error { return l.permits(ctx, ours.PermitSemaphore("permits")) },
		func() error { return l.start(ctx, ours.CountDownLatch("start"), theirs.CountDownLatch("start")) },
	}
	for _, id := range []string{"7", "{7}"} {
		reader, writer := ours.RWMutex("stock:rw"+id).Reader(), theirs.RWMutex("stock:rw"+id).Writer()
		steps = append(steps,
			func() error { return l.contend(ctx, ours.Mutex("stock:"+id), theirs.Mutex("stock:"+id)) },
			func() error {
				return l.contend(ctx, ours.SimpleMutex("stock:simple"+id), theirs.SimpleMutex("stock:simple"+id))
			},
			func() error {
				return l.contend(ctx, ours.FencedMutex("stock:fenced"+id), theirs.FencedMutex("stock:fenced"+id))
			},
			func() error { return l.contend(ctx, reader, writer) },
			func() error { return l.contend(ctx, writer, reader) },
			func() error { return l.line(ctx, ours.FairMutex("stock:fair"+id), theirs.FairMutex("stock:fair"+id)) },
		)
	}
	for name, channel := range map[string]string{"pool": "redisson_sc:{app:pool}", "{pool}": "redisson_sc:app:{pool}"} {
		steps = append(steps, func() error { return l.pool(ctx, channel, ours.Semaphore(name), theirs.Semaphore(name)) })
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
		if l.isRefused() {
			return nil
		}
	}
	l.awaitNobody()
	last()
	return nil
}

// contend has two callers of one process wait for another process; the one gets the lock by an unlock
// message, the other by asking again, for its lease is another.
func (l *limited) contend(ctx context.Context, ours, theirs *engine.Mutex) error {
	held, err := ours.Lock(ctx)
	if err != nil {
		return fmt.Errorf("Lock: %w", err)
	}
	first, second := theirs.LockAsync(ctx), theirs.LockAsync(ctx, engine.WithLease(time.Minute))
	redistest.Await(l.T, "the waiters to listen, or to fail", func() bool {
		_, err := first.Result()
		return l.server.Subscriptions().Count() > 0 || !errors.Is(err, futures.ErrPending) || l.isRefused()
	})
	if l.isRefused() { // they ask every PollCap
		return nil
	}
	if err := held.Unlock(ctx); err != nil {
		return fmt.Errorf("Unlock: %w", err)
	}
	for _, waiter := range []*futures.Future[*engine.Hold]{first, second} {
		redistest.Await(l.T, "a waiter's answer, or a refusal", func() bool { // those who listened may have been others
			_, err := waiter.Result()
			return !errors.Is(err, futures.ErrPending) || l.isRefused()
		})
		if l.isRefused() {
			return nil
		}
		hold, err := waiter.Wait(ctx)
		if err != nil {
			return fmt.Errorf("LockAsync: %w", err)
		}
		if err := hold.Unlock(ctx); err != nil {
			return fmt.Errorf("Unlock: %w", err)
		}
	}
	return nil
}

// line is contend for a fair lock, with a waiter that gives up, and one of Redisson behind one of ours.
func (l *limited) line(ctx context.Context, ours, theirs *engine.Mutex) error {
	if err := l.contend(ctx, ours, theirs); err != nil {
		return err
	}
	held, err := ours.Lock(ctx)
	if err != nil {
		return fmt.Errorf("Lock: %w", err)
	}
	if _, err := theirs.Lock(ctx, engine.WithWait(20*time.Millisecond)); !errors.Is(err, engine.ErrWaitTimeout) {
		return fmt.Errorf("Lock with a wait: %w", err)
	}
	if err := held.Unlock(ctx); err != nil {
		return fmt.Errorf("Unlock: %w", err)
	}
	return nil
}

// force extends a hold and has it freed by the other process.
func (l *limited) force(ctx context.Context, ours, theirs *engine.Mutex) error {
	held, err := ours.Lock(ctx, engine.WithLease(time.Minute))
	if err != nil {
		return fmt.Errorf("Lock: %w", err)
	}
	if err := held.Extend(ctx, 2*time.Minute); err != nil {
		return fmt.Errorf("Extend: %w", err)
	}
	if freed, err := theirs.ForceUnlock(ctx); err != nil || !freed {
		return fmt.Errorf("ForceUnlock: %t, %w", freed, err)
	}
	for began := time.Now(); ; time.Sleep(time.Millisecond) { // sleeps: between two looks; a waiter that has given up leaves when its last answer has come
		left := slices.DeleteFunc(l.server.Keys(), func(key string) bool { return !strings.HasPrefix(key, "app:stock") })
		if len(left) == 0 {
			return nil
		}
		if time.Since(began) > 2*time.Second {
			return fmt.Errorf("left in Redis: %q", left)
		}
	}
}

// pool has a caller wait for a permit of another process.
func (l *limited) pool(ctx context.Context, channel string, ours, theirs *engine.Semaphore) error {
	waiter := theirs.AcquireAsync(ctx, 1)
	if l.awaitSubscriber(channel, waiter); l.isRefused() {
		return nil
	}
	if err := ours.Release(ctx, 1); err != nil {
		return fmt.Errorf("Release: %w", err)
	}
	if _, err := waiter.Wait(ctx); err != nil {
		return fmt.Errorf("AcquireAsync: %w", err)
	}
	return nil
}

// permits has permits held and counted.
func (l *limited) permits(ctx context.Context, p *engine.PermitSemaphore) error {
	if _, err := p.TrySetPermits(ctx, 1); err != nil {
		return fmt.Errorf("TrySetPermits: %w", err)
	}
	held, err := p.Acquire(ctx, 1, engine.WithLease(time.Minute))
	if err != nil {
		return fmt.Errorf("Acquire: %w", err)
	}
	if _, err := p.TryAcquire(ctx, 1); !errors.Is(err, engine.ErrHeld) {
		return fmt.Errorf("TryAcquire: %w", err)
	}
	if _, err := p.Acquired(ctx); err != nil {
		return fmt.Errorf("Acquired: %w", err)
	}
	if err := held.Unlock(ctx); err != nil {
		return fmt.Errorf("Unlock: %w", err)
	}
	return nil
}

// start has a caller wait for another process to count down.
func (l *limited) start(ctx context.Context, ours, theirs *engine.CountDownLatch) error {
	if _, err := ours.TrySetCount(ctx, 2); err != nil {
		return fmt.Errorf("TrySetCount: %w", err)
	}
	waiter := theirs.WaitAsync(ctx)
	if l.awaitSubscriber("redisson_countdownlatch__channel__{app:start}", waiter); l.isRefused() {
		return nil
	}
	for range 2 {
		if err := ours.CountDown(ctx); err != nil {
			return fmt.Errorf("CountDown: %w", err)
		}
	}
	if _, err := waiter.Wait(ctx); err != nil {
		return fmt.Errorf("WaitAsync: %w", err)
	}
	return nil
}

// awaitSubscriber returns when somebody listens to a channel, or the waiter will not.
func (l *limited) awaitSubscriber(channel string, waiter *futures.Future[struct{}]) {
	redistest.Await(l.T, "the waiter to listen, or to fail", func() bool {
		_, err := waiter.Result()
		listens := func(to string) bool { return strings.HasPrefix(to, channel) } // the channel, or an inbox beside it
		there := l.server.Subscriptions()
		return slices.ContainsFunc(there.Channels, listens) || slices.ContainsFunc(there.Shard, listens) || !errors.Is(err, futures.ErrPending) || l.isRefused()
	})
}

// awaitNobody waits until nobody listens.
func (l *limited) awaitNobody() {
	redistest.Await(l.T, "nobody to listen", func() bool {
		return l.server.Subscriptions().Count() == 0 || l.isRefused()
	})
}

// isRefused reports whether something was refused for want of the right that is lacking.
func (l *limited) isRefused() bool { return l.lacks != "" && l.misses(l.lacks) }

// refused lists what the server has refused the user: "+command", "~key" or "&channel". What Open asks
// only to see whether it may is left out, and how the client introduces itself from Redis 7.2 on.
func (l *limited) refused() []string {
	l.Helper()
	signs := map[string]string{"command": "+", "key": "~", "channel": "&"}
	asked := []string{"+cluster", "+cluster|slots", "+cluster|shards", "+info", "+client", "+client|setinfo"} // Redis 6 names no subcommands
	var all []string
	for _, entry := range l.server.MustDo("ACL", "LOG").Items {
		field := make(map[string]string)
		for pair := range slices.Chunk(entry.Texts(), 2) {
			field[pair[0]] = pair[1]
		}
		object := signs[field["reason"]] + field["object"]
		if !slices.Contains(asked, object) && !strings.Contains(object, "wheellock:probe:") {
			all = append(all, object)
		}
	}
	return all
}

// misses reports whether something was refused for want of a right.
func (l *limited) misses(right string) bool {
	pattern, isPattern := strings.CutSuffix(right, "*")
	return slices.ContainsFunc(l.refused(), func(object string) bool {
		return object == right || isPattern && strings.HasPrefix(object, pattern)
	})
}

// wantEnough asserts that a rule lets everything work, with nothing refused but the commands by which the client cleans a connection
// that has rested for over a second, as on a busy machine.
func wantEnough(t *testing.T, server *redistest.Server, rule []string, opts engine.Options) {
	t.Helper()
	l := limit(t, server, rule, opts)
	if err := l.tour(func() {}); err != nil {
		t.Error(err)
	}
	cleaning := []string{"+discard", "+punsubscribe", "+sunsubscribe"}
	refused := slices.DeleteFunc(l.refused(), func(object string) bool { return slices.Contains(cleaning, object) })
	if len(refused) > 0 {
		t.Errorf("refused: %q", refused)
	}
}

// wantNeeded asserts that without any one of these rights the server refuses something for want of it.
func wantNeeded(t *testing.T, server *redistest.Server, rule, rights []string, opts engine.Options) {
	t.Helper()
	for _, right := range rights {
		t.Run("not without "+right, func(t *testing.T) {
			redistest.Await(t, "those before to be gone", func() bool { return server.Subscriptions().Count() == 0 })
			server.MustDo("FLUSHALL")
			l := limit(t, server, slices.DeleteFunc(slices.Clone(rule), func(r string) bool { return r == right }), opts)
			l.lacks = right
			err := l.tour(func() {
				redistest.Await(t, "a refusal", func() bool { return l.misses(right) })
			})
			if !l.misses(right) {
				t.Errorf("nothing was refused, error %v", err)
			}
			if err != nil && !errors.Is(err, engine.ErrUnavailable) {
				t.Errorf("%v, want ErrUnavailable", err)
			}
		})
	}
}

func TestLeastPrivilege(t *testing.T) {
	t.Parallel()
	rule := testkit.AclRule(t)
	t.Run("is enough, with nothing to spare", func(t *testing.T) {
		t.Parallel()
		server := redistest.Start(t)
		wantEnough(t, server, rule, engine.Options{})
		rights := slices.DeleteFunc(slices.Clone(rule), func(word string) bool { return !strings.ContainsAny(word[:1], "~&+") })
		wantNeeded(t, server, rule, rights, engine.Options{})
	})
	t.Run("does not reach other keys", func(t *testing.T) {
		l := limit(t, redistest.Start(t), rule, engine.Options{})
		l.opts.NameMapper = nil
		if err := l.tour(func() {}); !errors.Is(err, engine.ErrRefused) || !strings.Contains(err.Error(), "NOPERM") {
			t.Errorf("error %v, want ErrRefused with NOPERM", err)
		}
	})
	t.Run("grows with Quorum", func(t *testing.T) {
		server := redistest.Start(t)
		for _, c := range []struct {
			besides []string
			want    error
		}{{nil, nil}, {testkit.AclBesides(t, "Quorum"), engine.ErrInvalid}} {
			l := limit(t, server, slices.Concat(rule, c.besides), engine.Options{})
			if _, err := engine.Quorum("stock", openLimited(t, l.opts), openLimited(t, l.opts)); !errors.Is(err, c.want) {
				t.Errorf("Quorum of two engines on one server with %q besides: %v, want %v", c.besides, err, c.want)
			}
		}
	})
	for option, opts := range map[string]engine.Options{
		"PubSub":                       {PubSub: engine.PubSubBoth},
		"WatchLoss":                    {WatchLoss: true},
		"Replicas":                     {Replicas: 1, Lease: time.Minute},
		"Replicas: engine.AllReplicas": {Replicas: engine.AllReplicas, Lease: time.Minute},
		"Redis.SelectDB":               {Redis: rueidis.ClientOption{SelectDB: 1}},
		"Redis.AlwaysRESP2":            {Redis: rueidis.ClientOption{AlwaysRESP2: true}},
		"Fsync":                        {Fsync: 1500 * time.Millisecond},
	} {
		t.Run("grows with "+option, func(t *testing.T) {
			t.Parallel()
			var server *redistest.Server
			switch option {
			case "Replicas":
				server = redistest.Start(t)
				redistest.StartReplica(t, server)
			case "Fsync":
				server = redistest.StartNewer(t, "--appendonly", "yes", "--appendfsync", "always")
			default:
				server = redistest.Start(t)
			}
			besides := testkit.AclBesides(t, option)
			wantEnough(t, server, slices.Concat(rule, besides), opts)
			wantNeeded(t, server, slices.Concat(rule, besides), besides, opts)
		})
	}
}
