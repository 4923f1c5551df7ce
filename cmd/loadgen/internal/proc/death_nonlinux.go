//go:build unix && !linux

package proc

import (
	"os/exec"
	"syscall"
)

// DieWithParent makes the process the leader of a group. Only Linux can tie its life to its parent's.
func DieWithParent(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
