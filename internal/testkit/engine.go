package testkit

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
)

// Connect makes an engine on a server or proxy until the end of the test.
func Connect(tb testing.TB, addr string, change ...func(*engine.Options)) *engine.Engine {
	tb.Helper()
	opts := OptionsFor(addr)
	opts.Logger = slog.New(slog.NewTextHandler(tb.Output(), nil))
	for _, c := range change {
		c(&opts)
	}
	e, err := engine.Open(Soon(tb), opts)
	if err != nil {
		tb.Fatalf("open: %v", err)
	}
	tb.Cleanup(func() {
		if err := e.Close(); err != nil {
			tb.Errorf("close: %v", err)
		}
	})
	return e
}

// Open opens an engine on a server until the end of the test.
func Open(t testing.TB, server *redistest.Server, opts engine.Options) *engine.Engine {
	t.Helper()
	opts.Redis = rueidis.ClientOption{InitAddress: []string{server.Addr()}}
	e, err := engine.Open(context.Background(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// OptionsFor are the options for a single server.
func OptionsFor(addr string) engine.Options {
	return engine.Options{Redis: rueidis.ClientOption{InitAddress: []string{addr}}}
}

// Lease sets the watchdog's lease.
func Lease(d time.Duration) func(*engine.Options) {
	return func(o *engine.Options) { o.Lease = d }
}

// Replicas asks for so many.
func Replicas(n int) func(*engine.Options) {
	return func(o *engine.Options) { o.Replicas = n }
}

// OnlyMessages has waiters woken by messages alone: they never poll.
func OnlyMessages(o *engine.Options) { o.PollCap = time.Hour }
