package faults_test

import (
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// withoutHello is a server that does not know HELLO, and says so in these words; empty: in its own.
func withoutHello(t *testing.T, words string, args ...string) (server *redistest.Server, addr string) {
	server = redistest.Start(t, slices.Concat(args, []string{"--rename-command", "HELLO", ""})...)
	if words == "" {
		return server, server.Addr()
	}
	s := newSpoiler(t, server.Addr())
	own := regexp.MustCompile(`-ERR unknown command 'HELLO'[^\r]*\r\n`)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rewrite = func(answer []byte) []byte { return own.ReplaceAll(answer, []byte(words+"\r\n")) }
	return server, s.listener.Addr().String()
}

// Everything works with a server that speaks RESP2 alone, however it says so, and again after every connection broke.
// invariant: open-names-missing-rights
func TestAServerWithoutRESP3Serves(t *testing.T) {
	t.Parallel()
	for name, words := range map[string]string{
		"unknown command": "", "NOPROTO": "-NOPROTO unsupported protocol version", "a short NOPROTO": "-NOPROTO",
		"no right to HELLO":      "-NOPERM this user has no permissions to run the 'hello' command or its subcommand",
		"unknown, in lower case": "-ERR unknown command `hello`, with args beginning with: `3`, ",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // mostly it waits for subscriptions to end
			server, addr := withoutHello(t, words)
			servesInRESP2(t, server, addr)
		})
	}
	t.Run("with a password and another database", func(t *testing.T) {
		t.Parallel()
		server, addr := withoutHello(t, "-NOPROTO unsupported protocol version", "--requirepass", "secret")
		servesInRESP2(t, server, addr, func(o *engine.Options) { o.Redis.Password = "secret" })
	})
	t.Run("because RESP2 is asked for", func(t *testing.T) {
		t.Parallel()
		server := redistest.Start(t)
		servesInRESP2(t, server, server.Addr(), func(o *engine.Options) { o.Redis.AlwaysRESP2 = true })
	})
	t.Run("with connections read in the background", func(t *testing.T) {
		t.Parallel()
		server, addr := withoutHello(t, "-NOPROTO unsupported protocol version")
		servesInRESP2(t, server, addr, func(o *engine.Options) { o.Redis.AlwaysPipelining = true })
	})
}

func servesInRESP2(t *testing.T, server *redistest.Server, addr string, change ...func(*engine.Options)) {
	t.Helper()
	long := func(o *engine.Options) { o.PollCap = time.Hour } // only a message wakes who waits
	e, other := testkit.Connect(t, addr, append(change, long)...), testkit.Connect(t, addr, append(change, long)...)
	for turn := range 2 {
		for _, pair := range [][2]engine.Locker{
			{e.Mutex("mutex"), other.Mutex("mutex")}, {e.RWMutex("rw").Writer(), other.RWMutex("rw").Reader()}, {e.FairMutex("fair"), other.FairMutex("fair")},
		} {
			h := testkit.MustLock(t, pair[0])
			waits := pair[1].LockAsync(testkit.Soon(t))
			redistest.Await(t, "a subscription", func() bool { return server.Subscriptions().Count() > 0 })
			testkit.MustUnlock(t, h)
			mustGet(t, waits)
			redistest.Await(t, "the end of all subscriptions", func() bool { return server.Subscriptions().Count() == 0 })
		}
		if state, err := e.Mutex("mutex").Inspect(testkit.Soon(t)); err != nil || state.Locked {
			t.Errorf("Inspect: %+v, %v", state, err)
		}
		if turn == 0 {
			h := testkit.MustLock(t, e.Mutex("kept"))
			waits := other.Mutex("kept").LockAsync(testkit.Soon(t))
			redistest.Await(t, "a subscription", func() bool { return server.Subscriptions().Count() > 0 })
			server.KillClients("normal")
			server.KillClients("pubsub")
			redistest.Await(t, "a subscription after the break", func() bool { return server.Subscriptions().Count() > 0 })
			testkit.MustUnlock(t, h)
			mustGet(t, waits)
		}
	}
	testkit.CheckQuiet(t, server, e, 0)
	testkit.CheckQuiet(t, server, other, 0)
}

// WatchLoss is told by RESP3: Open says so where there is none.
func TestWatchLossNeedsRESP3(t *testing.T) {
	t.Parallel()
	for _, words := range []string{"", "-NOPROTO unsupported protocol version"} {
		_, addr := withoutHello(t, words)
		opts := testkit.OptionsFor(addr)
		opts.WatchLoss = true
		mustNotOpen(t, opts, engine.ErrRefused, "WatchLoss", "RESP3")
	}
	opts := testkit.OptionsFor("127.0.0.1:1")
	opts.WatchLoss, opts.Redis.AlwaysRESP2 = true, true
	mustNotOpen(t, opts, engine.ErrInvalid, "WatchLoss", "AlwaysRESP2")
}

// A cluster's nodes and sentinels are spoken to in RESP2 as well, and heard.
func TestRESP2WithClusterAndSentinel(t *testing.T) {
	t.Parallel()
	resp2 := func(o *engine.Options) { o.Redis.AlwaysRESP2, o.PollCap = true, time.Hour }
	t.Run("cluster", func(t *testing.T) {
		t.Parallel()
		c := redistest.StartCluster(t, 3, 0)
		a, b := testkit.Join(t, c, resp2), testkit.Join(t, c, resp2)
		for _, name := range testkit.Spread("resp2", 6) {
			testkit.EveryKind(t, a, b, name)
		}
	})
	t.Run("sentinel", func(t *testing.T) {
		t.Parallel()
		s := redistest.StartSentinel(t, 1)
		a, b := bySentinel(t, s, resp2), bySentinel(t, s, resp2)
		testkit.EveryKind(t, a, b, "name")
		s.Failover()
		redistest.Await(t, "the new master", func() bool {
			h, err := a.Mutex("other").TryLock(testkit.Soon(t))
			return err == nil && h.Unlock(testkit.Soon(t)) == nil
		})
		testkit.EveryKind(t, a, b, "another")
	})
}
