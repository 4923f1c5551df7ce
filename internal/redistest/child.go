package redistest

import (
	"os/exec"
	"testing"

	"github.com/wheellock/wheellock/internal/testkit/child"
)

// StartChild runs a process of the test's own, such as a client that is to be killed. It dies with the test that started it, or
// on Linux with its process.
func StartChild(tb testing.TB, cmd *exec.Cmd) *child.Process {
	tb.Helper()
	p, err := child.Start(cmd)
	if err != nil {
		tb.Fatalf("redistest: %v", err)
	}
	tb.Cleanup(p.Kill)
	return p
}
