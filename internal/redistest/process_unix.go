//go:build unix && !linux

package redistest

import (
	"os/exec"
	"syscall"
)

// dieWithParent does nothing: only Linux can tie a child to its parent's death.
func dieWithParent(*exec.Cmd) {}

// freeze asks the child to stop; it does so a moment later.
func (p *process) freeze() error { return p.cmd.Process.Signal(syscall.SIGSTOP) }

func (p *process) thaw() error { return p.cmd.Process.Signal(syscall.SIGCONT) }
