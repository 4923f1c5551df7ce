//go:build unix

package proc

import (
	"os"
	"os/exec"
	"syscall"
)

// Apart keeps a terminal's Ctrl-C from a process: it ends when it is told, after what needs it.
func Apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// KillGroup kills a process that leads a group, and the group.
func KillGroup(p *os.Process) {
	syscall.Kill(-p.Pid, syscall.SIGKILL)
	p.Kill() // whoever was not in the group yet
}
