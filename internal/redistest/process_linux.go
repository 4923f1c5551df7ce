package redistest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// dieWithParent has the kernel kill the child when the thread that starts it ends.
func dieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}

// freeze stops the child and returns once it stands still: the signal only asks.
func (p *process) freeze() error {
	if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	if !holds(p.stopped) {
		return fmt.Errorf("process %d did not stop", p.pid())
	}
	return nil
}

func (p *process) thaw() error { return p.cmd.Process.Signal(syscall.SIGCONT) }

// stopped reads the state letter behind "pid (name) ": T is stopped by a signal.
func (p *process) stopped() bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.pid()))
	if err != nil {
		return false
	}
	state := stat[bytes.LastIndexByte(stat, ')')+1:]
	return bytes.HasPrefix(state, []byte(" T"))
}
