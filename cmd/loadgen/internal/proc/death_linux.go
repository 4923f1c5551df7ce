package proc

import (
	"os/exec"
	"syscall"
)

// DieWithParent has the kernel kill the process when the thread that starts it ends.
func DieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
