package redistest

import (
	"testing"

	"github.com/wheellock/wheellock/internal/testkit/child"
)

// patience bounds every wait for another process.
const patience = child.Patience

// Await looks every few milliseconds until cond holds, and fails the test with what after 20 s. cond runs
// on the caller's goroutine.
func Await(tb testing.TB, what string, cond func() bool) {
	tb.Helper()
	if !child.Await(cond) {
		tb.Fatalf("redistest: still waiting after %v for: %s", child.Patience, what)
	}
}
