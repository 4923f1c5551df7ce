package faults_test

import (
	"testing"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/futures"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/internal/virtual"
)

// Everything works with a server that speaks RESP2 alone, however it says so, and again after every connection broke.
// invariant: open-names-missing-rights
func TestAServerWithoutRESP3Serves(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args   []string
		change func(*engine.Options)
	}{
		"unknown command":            {[]string{"--rename-command", "HELLO", ""}, func(*engine.Options) {}},
		"with a password":            {[]string{"--rename-command", "HELLO", "", "--requirepass", "secret"}, func(o *engine.Options) { o.Redis.Password = "secret" }},
		"because RESP2 is asked for": {nil, func(o *engine.Options) { o.Redis.AlwaysRESP2 = true }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // mostly it waits for subscriptions to end
			server := redistest.Start(t, c.args...)
			e, other := testkit.Connect(t, server.Addr(), c.change, testkit.OnlyMessages), testkit.Connect(t, server.Addr(), c.change, testkit.OnlyMessages)
			servesInRESP2(t, e, other, func() int { return server.Subscriptions().Count() }, func() {
				server.KillClients("normal")
				server.KillClients("pubsub")
			})
			testkit.CheckQuiet(t, server, e, 0)
			testkit.CheckQuiet(t, server, other, 0)
		})
	}
	for name, words := range map[string]string{
		"NOPROTO": "NOPROTO unsupported protocol version", "a short NOPROTO": "NOPROTO",
		"no right to HELLO":      "NOPERM this user has no permissions to run the 'hello' command or its subcommand",
		"unknown, in lower case": "ERR unknown command `hello`, with args beginning with: `3`, ",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			virtual.InRealTime(t, func(w *virtual.World) {
				w.Server.WithoutHello(words)
				background := func(o *engine.Options) { o.Redis.AlwaysPipelining = name == "NOPROTO" } // connections are read in the background
				e, _ := w.Connect(background, testkit.OnlyMessages)
				other, l := w.Connect(background, testkit.OnlyMessages)
				servesInRESP2(t, e, other, func() int { return len(w.Server.Subscriptions()) }, l.Cut)
			})
		})
	}
}

// servesInRESP2 has one engine wait for the other, by messages alone, before and after connections are cut.
func servesInRESP2(t *testing.T, e, other *engine.Engine, listeners func() int, cut func()) {
	t.Helper()
	for _, again := range []bool{false, true} {
		var holds []*engine.Hold
		var waits []*futures.Future[*engine.Hold]
		for _, pair := range [][2]engine.Locker{
			{e.Mutex("mutex"), other.Mutex("mutex")}, {e.RWMutex("rw").Writer(), other.RWMutex("rw").Reader()}, {e.FairMutex("fair"), other.FairMutex("fair")},
		} {
			holds = append(holds, testkit.MustLock(t, pair[0]))
			waits = append(waits, pair[1].LockAsync(testkit.Soon(t)))
		}
		redistest.Await(t, "subscriptions", func() bool { return listeners() >= 3 })
		if again {
			cut()
			redistest.Await(t, "subscriptions after the cut", func() bool { return listeners() >= 3 })
		}
		for i, h := range holds {
			testkit.MustUnlock(t, h)
			mustGet(t, waits[i])
		}
		if state, err := e.Mutex("mutex").Inspect(testkit.Soon(t)); err != nil && !again || state.Locked {
			t.Errorf("Inspect: %+v, %v", state, err)
		}
	}
}

// WatchLoss is told by RESP3: Open says so where there is none.
func TestWatchLossNeedsRESP3(t *testing.T) {
	t.Parallel()
	opts := testkit.OptionsFor(redistest.Start(t, "--rename-command", "HELLO", "").Addr())
	opts.WatchLoss = true
	mustNotOpen(t, opts, engine.ErrRefused, "WatchLoss", "RESP3")
	opts = testkit.OptionsFor("127.0.0.1:1")
	opts.WatchLoss, opts.Redis.AlwaysRESP2 = true, true
	mustNotOpen(t, opts, engine.ErrInvalid, "WatchLoss", "AlwaysRESP2")
}
