//go:build unix

package child

import (
	"os/exec"
	"syscall"
)

// Apart keeps a terminal's Ctrl-C from a child: it ends when it is told, after what needs it.
func Apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// Thaw lets a frozen child go on. Thawing a running one does nothing.
func (p *Process) Thaw() error { return p.cmd.Process.Signal(syscall.SIGCONT) }
