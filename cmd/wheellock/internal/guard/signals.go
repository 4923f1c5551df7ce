package guard

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// Signals passes on the signals that this process gets to the command that runs. While none runs, those that ask a process to end
// end a context.
type Signals struct {
	caught chan os.Signal
	cancel context.CancelCauseFunc

	mu sync.Mutex // guards the rest
	to *process   // nil: none runs
}

// Catch begins. The context ends with an Interrupted as its cause.
func Catch(parent context.Context) (context.Context, *Signals) {
	s := &Signals{caught: make(chan os.Signal, 16)}
	ctx, cancel := context.WithCancelCause(parent)
	s.cancel = cancel
	s.notify(ending)
	go func() {
		for caught := range s.caught {
			s.take(caught.(syscall.Signal))
		}
	}()
	return ctx, s
}

// notify asks for signals, but not for those that whoever started us had ignored (as nohup does).
func (s *Signals) notify(signals []os.Signal) {
	for _, one := range signals {
		if !signal.Ignored(one) {
			signal.Notify(s.caught, one)
		}
	}
}

func (s *Signals) take(caught syscall.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.to != nil {
		s.to.pass(caught)
		return
	}
	s.cancel(&Interrupted{caught})
}

// passTo names the command that runs; nil: none.
func (s *Signals) passTo(p *process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.to = p
	if p != nil {
		s.notify(passed)
	} else {
		signal.Reset(passed...)
	}
}

// Stop gives the signals back. o is how the last command ended: if it was by Ctrl-C at the terminal that it had, this process
// and the others of its group, such as the shell of a script, get what the terminal would have sent them.
func (s *Signals) Stop(o Outcome) {
	signal.Stop(s.caught)
	close(s.caught)
	s.cancel(nil)
	if o.interrupted {
		interruptOurs()
	}
}
