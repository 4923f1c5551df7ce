//go:build unix && !linux

package child

import (
	"os/exec"
	"syscall"
)

// dieWithParent does nothing: only Linux can tie a child to its parent's death.
func dieWithParent(*exec.Cmd) {}

// Freeze asks the child to stop; it does so a moment later.
func (p *Process) Freeze() error { return p.cmd.Process.Signal(syscall.SIGSTOP) }
