package redistest

import (
	"os/exec"
	"testing"
)

// Child is a process of the test's own, such as a client that is to be killed. It dies with the test that
// started it, or on Linux with its process. Any goroutine may call its methods.
type Child struct {
	tb testing.TB
	p  *process
}

// StartChild runs cmd, which must not have been started.
func StartChild(tb testing.TB, cmd *exec.Cmd) *Child {
	tb.Helper()
	p, err := start(cmd)
	if err != nil {
		tb.Fatalf("redistest: %v", err)
	}
	tb.Cleanup(p.kill)
	return &Child{tb, p}
}

// PID is the process's number.
func (c *Child) PID() int { return c.p.pid() }

// Kill ends the process with SIGKILL, also when it is frozen, and returns when it is gone. Killing a dead
// process does nothing.
func (c *Child) Kill() { c.p.kill() }

// Done is closed when the process has ended.
func (c *Child) Done() <-chan struct{} { return c.p.done }

// ExitCode is what the process ended with; -1: by a signal. It may be asked once Done is closed.
func (c *Child) ExitCode() int { return c.p.cmd.ProcessState.ExitCode() }

// Freeze stops the process where it stands (SIGSTOP) until Thaw; on Linux it stands still when Freeze
// returns. False: it has ended.
func (c *Child) Freeze() bool { return c.p.alive() && c.p.freeze() == nil }

// Thaw lets a frozen process go on. Thawing a running one, or one that has ended, does nothing.
func (c *Child) Thaw() { _ = c.p.thaw() }
