//go:build !unix

package guard

import (
	"os"
	"os/exec"
	"syscall"
)

var ending, passed = []os.Signal{os.Interrupt, syscall.SIGTERM}, []os.Signal{}

// process is a command. Here there are no process groups, and the system itself tells a console's processes of Ctrl-C.
type process struct {
	*os.Process
	changes    chan change
	foreground bool
}

func start(command, environment []string, _ func(group int)) (*process, error) { // of a child of ours nothing is refused
	path, err := exec.LookPath(command[0])
	if err != nil {
		return nil, err
	}
	started, err := os.StartProcess(path, command, &os.ProcAttr{
		Env: environment, Files: []*os.File{os.Stdin, os.Stdout, os.Stderr},
	})
	if err != nil {
		return nil, err
	}
	p := &process{Process: started, changes: make(chan change)}
	go func() {
		state, err := started.Wait()
		if err != nil {
			p.changes <- change{over: true, exit: 1}
			return
		}
		p.changes <- change{over: true, exit: state.ExitCode()}
	}()
	return p, nil
}

func (p *process) send(syscall.Signal)         { _ = p.Kill() }
func (p *process) pass(syscall.Signal)         {}
func (p *process) terminate()                  { _ = p.Kill() }
func (p *process) suspend(syscall.Signal) bool { return false }
func (p *process) resume()                     {}
func (p *process) end(bool)                    {}

func interruptOurs() {}

func orphans(chan<- os.Signal) {}
func reap()                    {}
