package engine_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
)

// The fault_*_test.go files run the engine on a real redis-server and break what lies between or behind:
// answers, connections, the server and its rights. Each test is named for the rule that must hold.
//
// How often a fault is injected is the full count times WHEELLOCK_SCALE. The default is small enough for
// every push; the full count is
//
//	WHEELLOCK_SCALE=1 go test -run Fault -timeout 2h -v ./engine

// defaultScale makes the whole set take about two minutes with -race on two cores.
const defaultScale = 0.02

var scale = sync.OnceValues(func() (float64, error) {
	text := os.Getenv("WHEELLOCK_SCALE")
	if text == "" {
		return defaultScale, nil
	}
	s, err := strconv.ParseFloat(text, 64)
	if err == nil && (s <= 0 || s > 100) {
		err = errors.New("WHEELLOCK_SCALE must be over 0 and at most 100")
	}
	return s, err
})

// times is how often to do what a full run does full times; never fewer than least.
func times(tb testing.TB, full, least int) int {
	tb.Helper()
	s, err := scale()
	if err != nil {
		tb.Fatal(err)
	}
	return max(least, int(float64(full)*s))
}

// lasting is times for durations.
func lasting(tb testing.TB, full, least time.Duration) time.Duration {
	tb.Helper()
	s, err := scale()
	if err != nil {
		tb.Fatal(err)
	}
	return max(least, time.Duration(float64(full)*s))
}

// every does it again and again, d apart, until stop is called or the test ends.
func every(tb testing.TB, d time.Duration, do func()) (stop func()) {
	stopping, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(d)
		defer tick.Stop()
		for {
			select {
			case <-stopping:
				return
			case <-tick.C:
				do()
			}
		}
	}()
	stop = sync.OnceFunc(func() { close(stopping); <-stopped })
	tb.Cleanup(stop)
	return stop
}

// connect makes an engine on a server or proxy until the end of the test.
func connect(tb testing.TB, addr string, change ...func(*engine.Options)) *engine.Engine {
	tb.Helper()
	opts := optionsFor(addr)
	opts.Logger = slog.New(slog.NewTextHandler(tb.Output(), nil))
	for _, c := range change {
		c(&opts)
	}
	e, err := engine.Open(soon(tb), opts)
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

func optionsFor(addr string) engine.Options {
	return engine.Options{Redis: rueidis.ClientOption{InitAddress: []string{addr}}}
}

// lease sets the watchdog's lease.
func lease(d time.Duration) func(*engine.Options) {
	return func(o *engine.Options) { o.Lease = d }
}

// patience bounds what must happen some time: far over what an idle machine needs.
const patience = 30 * time.Second

// soon is a context that ends after patience, or with the test.
func soon(tb testing.TB) context.Context {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	tb.Cleanup(cancel)
	return ctx
}

// patiently makes a call that is to be answered some time. Its deadline counts in place of AnswerTimeout, a second: on a
// busy machine the link may be away for longer.
func patiently(call func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return call(ctx)
}

// mustLock takes a lock.
func mustLock(tb testing.TB, l engine.Locker, opts ...engine.LockOption) *engine.Hold {
	tb.Helper()
	h, err := l.Lock(soon(tb), opts...)
	if err != nil {
		tb.Fatalf("lock %s: %v", l.Name(), err)
	}
	return h
}

// mustUnlock gives it back.
func mustUnlock(tb testing.TB, h *engine.Hold) {
	tb.Helper()
	if err := h.Unlock(soon(tb)); err != nil {
		tb.Fatalf("unlock %s: %v", h.Name(), err)
	}
}

// mustEnd waits until a hold has ended and returns why.
func mustEnd(tb testing.TB, h *engine.Hold) error {
	tb.Helper()
	select {
	case <-h.Done():
	case <-time.After(patience):
		tb.Fatalf("the hold of %s has not ended", h.Name())
	}
	return h.Err()
}

// ended reports whether a hold has told so.
func ended(h *engine.Hold) bool {
	select {
	case <-h.Done():
		return true
	default:
		return false
	}
}

// owners reads who holds a name in Redis, and how often.
func owners(s *redistest.Server, name string) []string { return s.MustDo("HGETALL", name).Texts() }

// checkQuiet checks what must be true two seconds after the last call: no key stands but those that others
// have and those of held living holds, nothing waits, and nobody listens (a subscription outlives its last
// waiter by one second). A busy machine gets three more seconds for its backlog.
func checkQuiet(tb testing.TB, s *redistest.Server, e *engine.Engine, held int, living ...string) {
	tb.Helper()
	slices.Sort(living)
	called := time.Now()
	for {
		// One look decides: after it, a connection that was cut may be back, and listen once more before it stops.
		keys, subs, stats := s.Keys(), s.Subscriptions(), e.Stats()
		quiet := slices.Equal(keys, living) && subs.Count() == 0 && stats.Waiting == 0 && stats.Held == int64(held)
		if quiet || time.Since(called) >= 5*time.Second {
			tb.Logf("quiet after %v: %t", time.Since(called).Round(time.Millisecond), quiet)
			if !slices.Equal(keys, living) {
				tb.Errorf("%d keys stand, want %d; the first not wanted: %q", len(keys), len(living), firstOf(keys, living))
			}
			if subs.Count() != 0 {
				tb.Errorf("somebody listens to %d channels: %q", subs.Count(), subs.Channels[:min(3, len(subs.Channels))])
			}
			if stats.Waiting != 0 || stats.Held != int64(held) {
				tb.Errorf("waiting = %d, held = %d; want 0, %d", stats.Waiting, stats.Held, held)
			}
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// firstOf is the first of some that is not among others.
func firstOf(some, others []string) string {
	for _, s := range some {
		if !slices.Contains(others, s) {
			return s
		}
	}
	return ""
}

// isAny reports whether an error is one of those.
func isAny(err error, sentinels ...error) bool {
	return slices.ContainsFunc(sentinels, func(s error) bool { return errors.Is(err, s) })
}

// mentions checks that an error's text has all the words.
func mentions(tb testing.TB, err error, words ...string) {
	tb.Helper()
	for _, w := range words {
		if err == nil || !strings.Contains(err.Error(), w) {
			tb.Errorf("the error does not say %q: %v", w, err)
		}
	}
}
