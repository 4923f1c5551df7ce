package redistest

import (
	"testing"
	"time"
)

// patience bounds every wait for another process. It is far over what an idle machine needs (a sentinel
// failover takes about 2 s), so that a crowded one does not fail the test.
const patience = 20 * time.Second

// pollEvery is how often a condition in another process is looked at; nothing can wake us when it holds.
const pollEvery = 3 * time.Millisecond

// Await looks every few milliseconds until cond holds, and fails the test with what after 20 s. cond runs
// on the caller's goroutine.
func Await(tb testing.TB, what string, cond func() bool) {
	tb.Helper()
	if !holds(cond) {
		tb.Fatalf("redistest: still waiting after %v for: %s", patience, what)
	}
}

// holds reports whether cond came true within patience.
func holds(cond func() bool) bool {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); <-tick.C {
		if cond() {
			return true
		}
	}
	return cond()
}
