// Package child runs processes for programs and tests: they die with their parent (Process), or are spoken with in lines of JSON
// (Link).
package child

import (
	"os/exec"
	"runtime"
	"sync"
	"time"
)

// Process is one child. A goroutine of its own reaps it and ends with it. Any goroutine may call its methods.
type Process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed once the child is reaped
}

// Start runs cmd, which must not have been started. The child dies with this process (Linux; elsewhere only an orderly end takes
// it along).
func Start(cmd *exec.Cmd) (*Process, error) {
	dieWithParent(cmd)
	if err := children.start(cmd); err != nil {
		return nil, err
	}
	p := &Process{cmd: cmd, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		defer children.release()
		_ = cmd.Wait() // State tells how it ended
	}()
	return p, nil
}

// Kill ends the child with SIGKILL, also when it is frozen, and returns once it is reaped. Killing a dead one does nothing.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // fails only when it has already ended
	<-p.done
}

// Alive reports whether the child has not ended.
func (p *Process) Alive() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// PID is the child's number.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done is closed when the child has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// ExitCode is what the child ended with; -1: by a signal. It may be asked once Done is closed.
func (p *Process) ExitCode() int { return p.cmd.ProcessState.ExitCode() }

// State is how the child ended, in words. It may be asked once Done is closed.
func (p *Process) State() string { return p.cmd.ProcessState.String() }

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

// Patience bounds every wait for another process. It is far over what an idle machine needs (a sentinel failover takes about 2 s),
// so that a crowded one does not fail the test.
const Patience = 20 * time.Second

// PollEvery is how often a condition in another process is looked at; nothing can wake us when it holds.
const PollEvery = 3 * time.Millisecond

// Await looks every few milliseconds until cond holds; false: it did not within Patience.
func Await(cond func() bool) bool {
	tick := time.NewTicker(PollEvery)
	defer tick.Stop()
	for deadline := time.Now().Add(Patience); time.Now().Before(deadline); <-tick.C {
		if cond() {
			return true
		}
	}
	return cond()
}
