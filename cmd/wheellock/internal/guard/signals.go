package guard

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/wheellock/wheellock/cmd/internal/signals"
)

// Signals passes on the signals that this process gets to the command that runs. While none runs, those that ask a process to end
// end a context.
type Signals struct {
	caught chan os.Signal
	ended  chan os.Signal // see orphans
	ctx    context.Context
	cancel context.CancelCauseFunc

	mu    sync.Mutex // guards the rest
	to    *process   // nil: none runs
	asked bool       // the command that runs got TERM or Ctrl-C; the others may ask for something else, such as a new configuration
}

// Catch begins. The context ends with a signals.Interrupted as its cause.
func Catch(parent context.Context) (context.Context, *Signals) {
	s := &Signals{caught: make(chan os.Signal, 16), ended: make(chan os.Signal, 1)}
	s.ctx, s.cancel = context.WithCancelCause(parent)
	signals.Notify(s.caught, ending...)
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // a note that nobody reads any more ends neither us nor the command
	orphans(s.ended)
	go func() {
		for {
			select {
			case caught, more := <-s.caught:
				if !more {
					return
				}
				s.take(caught.(syscall.Signal))
			case <-s.ended:
				s.reap()
			}
		}
	}()
	return s.ctx, s
}

// reap reaps what has become ours, unless a command runs: then its process does.
func (s *Signals) reap() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.to == nil {
		reap()
	}
}

func (s *Signals) take(caught syscall.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.to != nil {
		s.asked = s.asked || caught == syscall.SIGTERM || caught == syscall.SIGINT
		s.to.pass(caught)
		return
	}
	s.cancel(&signals.Interrupted{Signal: caught})
}

// begin starts the command that gets the signals from now on, unless one that asks to end came before. Signals that come while it
// starts wait for it.
func (s *Signals) begin(start func() (*process, error)) (p *process, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil {
		return nil, context.Cause(s.ctx)
	}
	signals.Notify(s.caught, passed...)
	if p, err = start(); err != nil {
		return nil, err
	}
	s.to, s.asked = p, false
	return p, nil
}

// over says that the command has ended, and returns whether it was asked to.
func (s *Signals) over() (asked bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.to = nil
	reap()                       // what ended since the command
	for _, one := range passed { // Reset of none would be Reset of all
		if !signal.Ignored(one) { // since this process was started
			signal.Reset(one)
		}
	}
	return s.asked
}

// Stop gives the signals back. o is how the last command ended: if it was by Ctrl-C at the terminal that it had, this process
// and the others of its group, such as the shell of a script, get what the terminal would have sent them.
func (s *Signals) Stop(o Outcome) {
	signal.Stop(s.caught)
	signal.Stop(s.ended)
	close(s.caught)
	s.cancel(nil)
	if o.interrupted {
		interruptOurs()
	}
}
