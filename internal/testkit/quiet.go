package testkit

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/scripts"
)

// CheckQuiet checks what must be true two seconds after the last call: no key stands but those that others
// have and those of held living holds, nothing waits, and nobody listens (a subscription outlives its last
// waiter by one second). A busy machine gets three more seconds for its backlog, and as many looks as an idle one has in five.
func CheckQuiet(tb testing.TB, s *redistest.Server, e *engine.Engine, held int, living ...string) {
	tb.Helper()
	slices.Sort(living)
	called := time.Now()
	for look := 1; ; look++ {
		// One look decides: after it, a connection that was cut may be back, and listen once more before it stops.
		keys, subs, stats := s.Keys(), s.Subscriptions(), e.Stats()
		quiet := slices.Equal(keys, living) && subs.Count() == 0 && stats.Waiting == 0 && stats.Held == int64(held)
		if quiet || time.Since(called) >= 5*time.Second && look >= 700 {
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

// Owners reads who holds a name in Redis, and how often.
func Owners(s *redistest.Server, name string) []string { return s.MustDo("HGETALL", name).Texts() }

// InLine counts the places in the line for a name.
func InLine(s *redistest.Server, name string) int {
	return len(slices.DeleteFunc(s.MustDo("ZRANGE", scripts.LineKey(name), "0", "-1").Texts(), func(member string) bool { return member == "since" }))
}

// IsAny reports whether an error is one of those.
func IsAny(err error, sentinels ...error) bool {
	return slices.ContainsFunc(sentinels, func(s error) bool { return errors.Is(err, s) })
}

// Mentions checks that an error's text has all the words.
func Mentions(tb testing.TB, err error, words ...string) {
	tb.Helper()
	for _, w := range words {
		if err == nil || !strings.Contains(err.Error(), w) {
			tb.Errorf("the error does not say %q: %v", w, err)
		}
	}
}
