package redistest

import (
	"os"
	"os/exec"
	"runtime"
	"sync"
)

// process is one child. A goroutine of its own reaps it and ends with it.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed once the child is reaped
}

// startProcess runs a program in dir, with its output going to log.
func startProcess(program string, args []string, dir string, log *os.File) (*process, error) {
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, log, log
	return start(cmd)
}

// start runs cmd. The child dies with this process (Linux; elsewhere only an orderly end takes it along).
func start(cmd *exec.Cmd) (*process, error) {
	dieWithParent(cmd)
	if err := children.start(cmd); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		defer children.release()
		_ = cmd.Wait() // how it ended is in its log; that it ended is all we tell
	}()
	return p, nil
}

// kill ends the child with SIGKILL, also when it is frozen, and returns once it is reaped.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // fails only when it has already ended
	<-p.done
}

func (p *process) alive() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// children is the parent of all processes.
var children launcher

// launcher starts every child from one goroutine that is bound to its thread. Linux sends the parent
// death signal when the *thread* that forked ends, not the process; the Go runtime ends threads as it
// likes, so a child of any other goroutine may be killed in the middle of a test. The goroutine lives as
// long as there are children, so that a leak check finds nothing after the last.
type launcher struct {
	mu      sync.Mutex // guards the rest
	alive   int        // children started and not yet released, and starts under way
	orders  chan func()
	stopped chan struct{}
}

func (l *launcher) start(cmd *exec.Cmd) error {
	l.mu.Lock()
	if l.alive == 0 {
		l.orders, l.stopped = make(chan func()), make(chan struct{})
		go launch(l.orders, l.stopped)
	}
	l.alive++
	orders := l.orders
	l.mu.Unlock()
	started := make(chan error, 1)
	orders <- func() { started <- cmd.Start() }
	err := <-started
	if err != nil {
		l.release()
	}
	return err
}

// release says that a child is reaped; the last one ends the launching goroutine.
func (l *launcher) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.alive--
	if l.alive == 0 {
		close(l.orders)
		<-l.stopped
	}
}

// launch runs orders on one thread. It never unlocks: the thread ends with it.
func launch(orders <-chan func(), stopped chan<- struct{}) {
	runtime.LockOSThread()
	defer close(stopped)
	for order := range orders {
		order()
	}
}
