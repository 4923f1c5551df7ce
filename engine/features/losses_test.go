package features_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// A server that dies under many holds: all are lost, a few are logged one by one, and the rest as a number.
func TestAnOutageOfManyHoldsIsAFewLines(t *testing.T) {
	t.Parallel()
	const holds = 20_000
	server := redistest.Start(t)
	var log strings.Builder // written by the goroutine of the logger alone, which Close waits for
	opts := testkit.OptionsFor(server.Addr())
	opts.Lease, opts.MaxRequests, opts.Logger = 5*time.Second, 2*holds, slog.New(slog.NewTextHandler(&log, nil))
	e := testkit.MustOpen(t, func(ctx context.Context) (*engine.Engine, error) { return engine.Open(ctx, opts) })
	began := time.Now()
	held := testkit.LockMany(t, e, "held", holds)
	server.Kill()
	for _, h := range held {
		testkit.MustEnd(t, h)
	}
	redistest.Await(t, "all losses to be counted", func() bool { return e.Stats().Lost == holds })
	e.Close()
	text := log.String()
	periods := int(time.Since(began)/(10*time.Second)) + 2 // at most: two, unless a busy machine takes long to lock or to notice
	if n := strings.Count(text, "a lock was lost"); n < 10 || n > 10*periods {
		t.Errorf("%d losses are logged one by one:\n%s", n, text)
	}
	if n := strings.Count(text, "more locks were lost"); n < 1 || n > periods {
		t.Errorf("%d numbers of losses:\n%s", n, text)
	}
	if !strings.Contains(text, "name=held:") || !strings.Contains(text, `cause="not renewed in time`) {
		t.Errorf("the log lacks a name or a cause:\n%s", text)
	}
}
