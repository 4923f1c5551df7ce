package faults_test

import (
	"errors"
	"log/slog"
	"regexp"
	"strings"
	"testing"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// A call that fails fast, and waits for what another process has, fails when the server has gone, killed or frozen, and later calls fail at
// once. A frozen server's silence is told in these words, and never in those of a caller's own deadline.
func TestFaultFailFastThroughAKilledAndAFrozenServer(t *testing.T) {
	deadline := regexp.MustCompile(`deadline|i/o timeout|raw-read`)
	for _, c := range []struct {
		name string
		stop func(*redistest.Server)
		back func(*redistest.Server)
		says *regexp.Regexp
	}{
		{"killed", (*redistest.Server).Kill, (*redistest.Server).Restart, regexp.MustCompile(`refused|reset|EOF|broken pipe`)},
		{"frozen", (*redistest.Server).Freeze, (*redistest.Server).Thaw, regexp.MustCompile(`127\.0\.0\.1:\d+: no answer (within \d|in time)`)},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server, logged := redistest.Start(t), new(lockedBuffer)
			e := testkit.Connect(t, server.Addr(), func(o *engine.Options) { o.Logger = slog.New(slog.NewTextHandler(logged, nil)) })
			theirs := testkit.Connect(t, server.Addr())
			held := testkit.MustLock(t, theirs.Mutex("stock:7"))
			waiter := e.Mutex("stock:7").LockAsync(t.Context(), engine.WithFailFast())
			redistest.Await(t, "a waiter in line", func() bool { return e.Stats().Waits > 0 })
			c.stop(server)
			_, err := waiter.Wait(testkit.Soon(t))
			again := testkit.ResultOf(e.Mutex("stock:8").Lock(testkit.Soon(t), engine.WithFailFast()))
			for _, err := range []error{err, again} {
				if !errors.Is(err, engine.ErrUnavailable) || !c.says.MatchString(err.Error()) || deadline.MatchString(err.Error()) {
					t.Errorf("the error is %v, want ErrUnavailable with %v", err, c.says)
				}
			}
			if !errors.Is(again, engine.ErrNotSent) || e.Up() {
				t.Errorf("during the outage: %v, Up %t; want ErrNotSent, false", again, e.Up())
			}
			redistest.Await(t, "word of the messages", func() bool { return strings.Contains(logged.String(), "unlock messages") })
			c.back(server)
			redistest.Await(t, "the link", e.Up)
			if c.name == "frozen" {
				testkit.MustUnlock(t, held)
			}
			testkit.MustUnlock(t, testkit.MustLock(t, e.Mutex("stock:7"), engine.WithFailFast()))
			if text := logged.String(); !c.says.MatchString(text) || deadline.MatchString(text) {
				t.Errorf("logged:\n%s", text)
			}
		})
	}
}
