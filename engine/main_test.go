package engine_test

import (
	"runtime/debug"
	"testing"

	"github.com/wheellock/wheellock/internal/testkit"
)

// The heap is small, and the garbage of thousands of worlds comes fast.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	testkit.Main(m)
}
