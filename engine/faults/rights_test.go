package faults_test

import (
	"context"
	"errors"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/futures"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// limitedTo makes the user locks with a rule, and options for it.
func limitedTo(server *redistest.Server, rule ...string) engine.Options {
	server.MustDo(slices.Concat([]string{"ACL", "SETUSER", "locks", "reset", "on", ">password"}, rule)...)
	opts := testkit.OptionsFor(server.Addr())
	opts.Redis.Username, opts.Redis.Password = "locks", "password"
	return opts
}

// openLimited opens an engine for such a user, until the end of the test.
func openLimited(t *testing.T, opts engine.Options) *engine.Engine {
	t.Helper()
	e := testkit.MustOpen(t, func(ctx context.Context) (*engine.Engine, error) { return engine.Open(ctx, opts) })
	t.Cleanup(func() { e.Close() })
	return e
}

// SECURITY.md says which commands the engine needs; without any one of them Open fails and names it.
// invariant: open-names-missing-rights
func TestFaultMissingCommandIsNamedAtOpen(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	rule := testkit.AclRule(t)
	for name, c := range map[string]struct {
		change  func(*engine.Options)
		besides []string // the rule; nil: the rule itself
	}{
		"default":     {func(*engine.Options) {}, nil},
		"PubSub":      {func(o *engine.Options) { o.PubSub = engine.PubSubBoth }, testkit.AclBesides(t, "PubSub")},
		"Replicas":    {func(o *engine.Options) { o.Replicas = 1 }, testkit.AclBesides(t, "Replicas")},
		"AllReplicas": {func(o *engine.Options) { o.Replicas = engine.AllReplicas }, testkit.AclBesides(t, "Replicas: engine.AllReplicas")},
		"WatchLoss":   {func(o *engine.Options) { o.WatchLoss = true }, testkit.AclBesides(t, "WatchLoss")},
	} {
		t.Run(name, func(t *testing.T) {
			needed, all := c.besides, slices.Concat(rule, c.besides)
			if needed == nil {
				needed = rule
			}
			for _, right := range needed {
				command, isCommand := strings.CutPrefix(right, "+")
				if !isCommand || command == "ping" { // a refused PING proves that the server is there as well
					continue
				}
				opts := limitedTo(server, slices.DeleteFunc(slices.Clone(all), func(r string) bool { return r == right })...)
				c.change(&opts)
				// Where the server's words name it, they have other signs between command and subcommand.
				mustNotOpen(t, opts, engine.ErrRefused, strings.FieldsFunc(command, func(r rune) bool { return r == '|' })...)
			}
		})
	}
}

// Whoever lacks several commands is told of all at once, also if one of them is what the others are tried by.
// invariant: open-names-missing-rights
func TestFaultAllMissingCommandsAreNamedAtOnce(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	for _, lacking := range [][]string{
		{"time", "hset", "subscribe"}, {"script|load", "evalsha", "publish"}, {"eval", "time", "script|load", "hset", "subscribe"},
	} {
		rule := []string{"~*", "&*", "+@all"}
		for _, command := range lacking {
			rule = append(rule, "-"+command)
		}
		err := mustNotOpen(t, limitedTo(server, rule...), engine.ErrRefused, lacking...)
		if err == nil {
			continue
		}
		e := openLimited(t, limitedTo(server, append(rule, regexp.MustCompile(`\+[a-z|]+`).FindAllString(err.Error(), -1)...)...))
		testkit.MustUnlock(t, testkit.MustLock(t, e.Mutex("name")))
	}
}

// A key that the user may not touch is refused at first use, in the server's words, and charged to nobody
// else who is asked about in the same breath.
// invariant: batch-error-charges-nobody
func TestFaultMissingKeyPattern(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	e := openLimited(t, limitedTo(server, "~allowed:*", "&*", "+@all"))
	forbidden := e.Mutex("forbidden:1").LockAsync(testkit.Soon(t))
	var allowed []*engine.Hold
	for _, name := range []string{"allowed:1", "allowed:2", "allowed:3"} {
		allowed = append(allowed, testkit.MustLock(t, e.Mutex(name)))
	}
	if _, err := forbidden.Wait(testkit.Soon(t)); !errors.Is(err, engine.ErrRefused) {
		t.Errorf("lock of a forbidden key: %v, want ErrRefused", err)
	} else {
		testkit.Mentions(t, err, "NOPERM", "forbidden:1")
	}
	for _, h := range allowed {
		testkit.MustUnlock(t, h)
	}
	testkit.CheckQuiet(t, server, e, 0)
}

// Callers who may not hear any channel wait for every kind all the same, asking every PollCap. The log says it, and less and less often that it goes on.
func TestFaultMissingChannelPattern(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	opts := limitedTo(server, "~*", "resetchannels", "+@all")
	opts.PollCap = 300 * time.Millisecond
	var log lockedBuffer
	opts.Logger = slog.New(slog.NewTextHandler(&log, nil))
	e, other := openLimited(t, opts), testkit.Connect(t, server.Addr())
	for _, l := range [][2]engine.Locker{
		{other.Mutex("mutex"), e.Mutex("mutex")}, {other.FencedMutex("fenced"), e.FencedMutex("fenced")}, {other.FairMutex("fair"), e.FairMutex("fair")},
		{other.RWMutex("w").Writer(), e.RWMutex("w").Writer()}, {other.RWMutex("r").Writer(), e.RWMutex("r").Reader()}, {other.SimpleMutex("simple"), e.SimpleMutex("simple")},
	} {
		testkit.MustUnlock(t, testkit.MustLock(t, l[1]))
		h := testkit.MustLock(t, l[0])
		waits := l[1].LockAsync(testkit.Soon(t))
		redistest.Await(t, "a waiter", func() bool { return e.Stats().Waiting == 1 })
		testkit.MustUnlock(t, h)
		mustGet(t, waits)
	}
	pool, permits, latch := e.Semaphore("pool"), e.PermitSemaphore("permits"), e.CountDownLatch("latch")
	if err := errors.Join(testkit.ResultOf(pool.TrySetPermits(testkit.Soon(t), 1)), testkit.ResultOf(permits.TrySetPermits(testkit.Soon(t), 1)),
		testkit.ResultOf(latch.TrySetCount(testkit.Soon(t), 1)), pool.Acquire(testkit.Soon(t), 1)); err != nil {
		t.Fatal(err)
	}
	h, err := permits.Acquire(testkit.Soon(t), 1)
	testkit.Must(t, err)
	one, two, open := pool.AcquireAsync(testkit.Soon(t), 1), permits.AcquireAsync(testkit.Soon(t), 1), latch.WaitAsync(testkit.Soon(t))
	redistest.Await(t, "three waiters", func() bool { return e.Stats().Waiting == 3 })
	testkit.Must(t, other.Semaphore("pool").Release(testkit.Soon(t), 1))
	testkit.Must(t, h.Unlock(testkit.Soon(t)))
	testkit.Must(t, other.CountDownLatch("latch").CountDown(testkit.Soon(t)))
	mustGet(t, two)
	for what, f := range map[string]*futures.Future[struct{}]{"semaphore": one, "latch": open} {
		if _, err := f.Wait(testkit.Soon(t)); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	if n := strings.Count(log.String(), "may not listen for unlock messages"); n < 1 || n > 4 { // once, then after 1 s, 5 s, 21 s
		t.Errorf("the log says %d times that channels may not be heard", n)
	}
}

func TestFaultRightsRevokedWhileRunning(t *testing.T) {
	t.Parallel()
	t.Run("to a channel: who waits asks every PollCap", func(t *testing.T) {
		t.Parallel()
		server := redistest.Start(t)
		opts := limitedTo(server, "~*", "&*", "+@all")
		opts.PollCap = 300 * time.Millisecond
		e := openLimited(t, opts)
		outside := testkit.NewOutsider(t, server.Addr())
		outside.Take("taken", time.Hour)
		f := e.Mutex("taken").LockAsync(testkit.Soon(t))
		redistest.Await(t, "the subscriptions", func() bool { return server.Subscriptions().Count() == 2 })
		server.MustDo("ACL", "SETUSER", "locks", "resetchannels")
		redistest.Await(t, "its end", func() bool { return server.Subscriptions().Count() == 0 })
		outside.Free("taken")
		mustGet(t, f)
		testkit.CheckQuiet(t, server, e, 0)
	})
	t.Run("to keys: holds end at their deadlines, calls are refused, and all is well when it is given back", func(t *testing.T) {
		t.Parallel()
		server := redistest.Start(t)
		opts := limitedTo(server, "~*", "&*", "+@all")
		opts.Lease = time.Second
		e := openLimited(t, opts)
		h := testkit.MustLock(t, e.Mutex("held"))
		unlocked := testkit.MustLock(t, e.Mutex("unlocked"), engine.WithLease(time.Minute))
		server.MustDo("ACL", "SETUSER", "locks", "resetkeys")
		if err := unlocked.Unlock(testkit.Soon(t)); !errors.Is(err, engine.ErrRefused) {
			t.Errorf("unlock: %v, want ErrRefused", err)
		} else {
			testkit.Mentions(t, err, "NOPERM")
		}
		if _, err := e.Mutex("another").Lock(testkit.Soon(t)); !errors.Is(err, engine.ErrRefused) { // it is no use to wait
			t.Errorf("Lock: %v, want ErrRefused", err)
		} else {
			testkit.Mentions(t, err, "NOPERM")
		}
		testkit.WantIs(t, "the hold", testkit.MustEnd(t, h), engine.ErrLost)
		server.MustDo("ACL", "SETUSER", "locks", "~*")
		testkit.MustUnlock(t, testkit.MustLock(t, e.Mutex("another"), engine.WithLease(time.Minute)))
		testkit.CheckQuiet(t, server, e, 0) // and the release that was refused has been sent again
	})
	t.Run("to log in: calls are refused until the user is back", func(t *testing.T) {
		t.Parallel()
		server := redistest.Start(t)
		e := openLimited(t, limitedTo(server, "~*", "&*", "+@all"))
		h := testkit.MustLock(t, e.Mutex("held"))
		server.MustDo("ACL", "DELUSER", "locks")
		redistest.Await(t, "a refusal", func() bool {
			_, err := e.Mutex("another").TryLock(testkit.Soon(t))
			return errors.Is(err, engine.ErrRefused)
		})
		limitedTo(server, "~*", "&*", "+@all")
		testkit.MustUnlock(t, testkit.MustLock(t, e.Mutex("another")))
		testkit.MustUnlock(t, h)
		testkit.CheckQuiet(t, server, e, 0)
	})
}

// Credentials that change are asked for anew by every connection, and before they end by those that are open.
func TestFaultCredentialsRotate(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	var current atomic.Value
	current.Store("first")
	server.MustDo("ACL", "SETUSER", "locks", "on", ">first", "~*", "&*", "+@all")
	refreshed := make(chan struct{}, 100)
	opts := testkit.OptionsFor(server.Addr())
	opts.Redis.AuthCredentialsFn = func(rueidis.AuthCredentialsContext) (rueidis.AuthCredentials, error) {
		select {
		case refreshed <- struct{}{}:
		default:
		}
		return rueidis.AuthCredentials{Username: "locks", Password: current.Load().(string), RefreshAfter: time.Now().Add(300 * time.Millisecond)}, nil
	}
	e := openLimited(t, opts)
	h := testkit.MustLock(t, e.Mutex("held"))
	for len(refreshed) > 0 {
		<-refreshed
	}
	select {
	case <-refreshed: // on an open connection
	case <-time.After(testkit.Patience):
		t.Error("nobody asked for credentials before they ended")
	}
	server.MustDo("ACL", "SETUSER", "locks", ">second")
	current.Store("second")
	server.MustDo("ACL", "SETUSER", "locks", "<first")
	if server.KillClients("normal") == 0 {
		t.Error("nobody was connected")
	}
	waits := e.Mutex("another").LockAsync(testkit.Soon(t))
	mustGet(t, waits)
	testkit.MustUnlock(t, h)
	testkit.CheckQuiet(t, server, e, 0)
}

// A key that holds something else is left alone, and the error says what it is and what to do.
func TestFaultForeignKey(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	e := testkit.Connect(t, server.Addr())
	for what, make := range map[string][]string{
		"string": {"SET", "key", "text"},
		"list":   {"RPUSH", "key", "a", "b"},
		"set":    {"SADD", "key", "a", "b"},
		"zset":   {"ZADD", "key", "1", "a", "2", "b"},
		"stream": {"XADD", "key", "1-1", "a", "b"},
		"hash":   {"HSET", "key", "mode", "write", "owner", "1"}, // a read-write lock's
	} {
		t.Run(what, func(t *testing.T) {
			server.MustDo(make...)
			before := server.MustDo("DUMP", "key").Text
			for _, try := range []bool{true, false} {
				lock := e.Mutex("key").Lock
				if try {
					lock = e.Mutex("key").TryLock
				}
				if _, err := lock(testkit.Soon(t)); !errors.Is(err, engine.ErrForeignKey) || errors.Is(err, engine.ErrUnavailable) {
					t.Errorf("%v, want ErrForeignKey", err)
				} else {
					testkit.Mentions(t, err, "is not this kind of lock (it is a "+what, "Options.NameMapper", "docs/MIGRATING.md")
				}
			}
			if _, err := e.Mutex("key").Inspect(testkit.Soon(t)); what != "hash" && !errors.Is(err, engine.ErrForeignKey) {
				t.Errorf("Inspect: %v, want ErrForeignKey", err)
			}
			if what != "hash" {
				testkit.WantIs(t, "ForceUnlock", testkit.ResultOf(e.Mutex("key").ForceUnlock(testkit.Soon(t))), engine.ErrForeignKey)
			}
			if server.MustDo("DUMP", "key").Text != before || server.MustDo("PTTL", "key").Int != -1 {
				t.Error("the key was touched")
			}
			server.MustDo("DEL", "key")
		})
	}
	testkit.MustUnlock(t, testkit.MustLock(t, e.Mutex("key")))
	testkit.CheckQuiet(t, server, e, 0)
}
