package flight_test

import (
	"os"
	"testing"

	"github.com/wheellock/wheellock/internal/testkit"
)

// TestMain runs the tests, or is one process of the fleet that a test started.
func TestMain(m *testing.M) {
	if addr := os.Getenv("FLIGHT_TEST_REDIS"); addr != "" {
		member(addr)
		return
	}
	testkit.Main(m)
}
