package child

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// dieWithParent has the kernel kill the child when the thread that starts it ends.
func dieWithParent(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
}

// Freeze stops the child where it stands (SIGSTOP) until Thaw, and returns once it stands still: the signal only asks.
func (p *Process) Freeze() error {
	if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	if !Await(p.stopped) {
		return fmt.Errorf("process %d did not stop", p.PID())
	}
	return nil
}

// stopped reads the state letter behind "pid (name) ": T is stopped by a signal.
func (p *Process) stopped() bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.PID()))
	if err != nil {
		return false
	}
	state := stat[bytes.LastIndexByte(stat, ')')+1:]
	return bytes.HasPrefix(state, []byte(" T"))
}
