package idempotency_test

import (
	"os"
	"testing"

	"github.com/wheellock/wheellock/internal/testkit"
)

// TestMain runs the tests, or is one of the processes that a test started.
func TestMain(m *testing.M) {
	if addr := os.Getenv("IDEMPOTENCY_TEST_REDIS"); addr != "" {
		member(addr, os.Getenv("IDEMPOTENCY_TEST_STEP"))
		return
	}
	testkit.Main(m)
}
