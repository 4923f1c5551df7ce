package testkit

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/wheellock/wheellock/engine"
)

// Connect makes an engine on a server or proxy until the end of the test.
func Connect(tb testing.TB, addr string, change ...func(*engine.Options)) *engine.Engine {
	tb.Helper()
	opts := OptionsFor(addr, append([]func(*engine.Options){LogTo(tb)}, change...)...)
	e := MustOpen(tb, func(ctx context.Context) (*engine.Engine, error) { return engine.Open(ctx, opts) })
	tb.Cleanup(func() {
		if err := e.Close(); err != nil {
			tb.Errorf("close: %v", err)
		}
	})
	return e
}

// Open opens what needs a server, an engine or more. A time-out of some seconds, or less with a short lease, may pass on a
// busy machine before the first answer comes: a server that seems not to answer is asked again. One that refuses is not.
func Open[T any](ctx context.Context, open func(context.Context) (T, error)) (opened T, err error) {
	for {
		opened, err = open(ctx)
		if !errors.Is(err, engine.ErrUnavailable) || errors.Is(err, engine.ErrRefused) || ctx.Err() != nil {
			return opened, err
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// MustOpen is Open of what must open.
func MustOpen[T any](tb testing.TB, open func(context.Context) (T, error)) T {
	tb.Helper()
	opened, err := Open(Soon(tb), open)
	if err != nil {
		tb.Fatalf("open: %v", err)
	}
	return opened
}

// OptionsFor are the options for a single server, changed in this order.
func OptionsFor(addr string, change ...func(*engine.Options)) engine.Options {
	opts := engine.Options{Redis: rueidis.ClientOption{InitAddress: []string{addr}}}
	for _, c := range change {
		c(&opts)
	}
	return opts
}

// LogTo has the engine's records written to the test's output.
func LogTo(tb testing.TB) func(*engine.Options) {
	return func(o *engine.Options) { o.Logger = slog.New(slog.NewTextHandler(tb.Output(), nil)) }
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
