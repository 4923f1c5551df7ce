package redistest

import (
	"testing"

	"github.com/wheellock/wheellock/internal/testkit/redisserver"
)

// FreePort is a loopback port that nobody listens on and that no Server of any process will take: for what a
// server listens on besides.
func FreePort(tb testing.TB) int {
	tb.Helper()
	port, err := redisserver.FreePort()
	if err != nil {
		tb.Fatal(err)
	}
	return port
}
