package main

import (
	"context"
	"fmt"
	"time"

	"github.com/wheellock/wheellock/cmd/loadgen/internal/target"
	"github.com/wheellock/wheellock/internal/load"
	"github.com/wheellock/wheellock/internal/load/crew"
)

// follow shows what the callers do until the last has ended, and passes on what ends them before: the first Ctrl-C, the
// second, or a server of our own that has ended. A nil channel is one that has spoken and is not heard again.
func (s *session) follow(callers callers) (problems []string) {
	end, hurry := s.end.Done(), s.hurry.Done()
	abandon := func(problem string) {
		problems = append(problems, problem)
		callers.Stop(true)
	}
	move := time.NewTicker(250 * time.Millisecond)
	defer move.Stop()
	phase := phaseOf(s.plan)
	for events := callers.Events(); ; {
		select {
		case e, more := <-events:
			if !more {
				return problems
			}
			if e.Died != "" { // its lock is not freed before its lease is over, and waiters would wait for that
				s.facts.Died[e.Process] = e.Died
				s.live.Note("process %d died: %s; the run ends here", e.Process+1, e.Died)
				callers.Stop(true)
			}
			s.take(&e, phase)
		case <-move.C:
			s.live.Progress(phase.now())
		case <-end:
			end = nil
			s.facts.EndedEarly = phase.name != load.Drain
			phase.enter(load.Drain, 0)
			callers.Stop(false)
		case <-hurry:
			hurry = nil
			callers.Stop(true)
		case err := <-s.target.Failed():
			s.live.Note("%v; the run ends here", err)
			abandon(err.Error())
		}
	}
}

// take files one event. A process that is gone may complete intervals too: those for which only its sample was missing.
func (s *session) take(e *crew.Event, phase *phase) {
	var complete []*load.Sample
	switch {
	case e.Note != "":
		s.live.Note("%s%s", s.prefix(e.Process), e.Note)
	case e.Gone:
		complete = s.sums.Gone(e.Process)
	case e.Sample != nil:
		complete = s.sums.Take(e.Sample)
	}
	for _, sum := range complete {
		s.live.Line(sum, s.sums.Violations())
		s.turn(sum, phase)
	}
}

// turn goes on to the next phase when one is over, and reads the server's counters in between. All processes have sent the last
// sample of the phase by then; what they do while the counters are read belongs to the next one.
func (s *session) turn(sum *load.Sample, phase *phase) {
	switch {
	case !sum.Last || phase.name == load.Drain && sum.Phase == load.WarmUp:
	case sum.Phase == load.WarmUp:
		s.before = s.read()
		phase.enter(load.Measured, s.plan.Duration)
	case sum.Phase == load.Measured:
		s.after = s.read()
		phase.enter(load.Drain, 0)
	}
}

// read reads the server's counters, if it answers.
func (s *session) read() target.Reading {
	ctx, cancel := context.WithTimeout(s.hurry, 5*time.Second)
	defer cancel()
	return s.target.Read(ctx)
}

// prefix names the process that a note is about; empty: there is only one.
func (s *session) prefix(process int) string {
	if s.plan.Processes == 1 {
		return ""
	}
	return fmt.Sprintf("process %d: ", process+1)
}

// phase is where a run stands, for the progress bar.
type phase struct {
	name  load.Phase
	start time.Time
	all   time.Duration // how long it is to last; 0: unknown, the drain lasts until the last call is over
}

func phaseOf(p *load.Plan) *phase {
	f := &phase{}
	if p.Warmup > 0 {
		f.enter(load.WarmUp, p.Warmup)
	} else {
		f.enter(load.Measured, p.Duration)
	}
	return f
}

func (p *phase) enter(name load.Phase, all time.Duration) {
	*p = phase{name: name, start: time.Now(), all: all}
}

func (p *phase) now() (load.Phase, time.Duration, time.Duration) {
	return p.name, time.Since(p.start), p.all
}
