package load

import (
	"context"
	"runtime"
	"time"

	"github.com/wheellock/wheellock/internal/testkit/figures"
	"github.com/wheellock/wheellock/internal/testkit/usage"
)

// Run runs the load: the warm-up, the measured time, the drain; once. It hands a Sample to emit every second,
// and at the end of each phase; the last has an Ending. When end ends, so does the phase that is under way,
// and the drain begins. When hurry ends, the drain waits for nobody, and does not judge who still waits.
// When Run returns, its engine is closed and all it held is freed, unless calls are stuck.
func (r *Rig) Run(end, hurry context.Context, emit func(*Sample)) {
	r.last = cut{at: time.Now(), usage: usage.Now()}
	r.start()
	if r.phase(end, WarmUp, r.plan.Warmup, emit) {
		r.phase(end, Measured, r.plan.Duration, emit)
	}
	r.stop()
	ending := r.drain(hurry)
	s := r.cut(Drain, true)
	s.Ending = ending
	emit(s)
}

// phase lets the load run for a time, and cuts a sample every interval. False: end came before.
func (r *Rig) phase(end context.Context, phase Phase, length time.Duration, emit func(*Sample)) (whole bool) {
	start := r.last.at // each sample's end counts from here, so that the delays of single samples do not add up
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for done := time.Duration(0); done < length; {
		done = min((done + r.interval).Truncate(r.interval), length)
		timer.Reset(time.Until(start.Add(done)))
		select {
		case <-timer.C:
		case <-end.Done():
			done, length = 0, 0
		}
		emit(r.cut(phase, done == length))
	}
	return end.Err() == nil
}

// cut makes a sample of what happened since the last cut. last: it is the last of its phase.
func (r *Rig) cut(phase Phase, last bool) *Sample {
	stats := r.engine.Stats()
	now := cut{at: time.Now(), engine: engineCounts(&stats), usage: usage.Now()}
	s := &Sample{
		Process: r.process, Phase: phase, Last: last, Elapsed: now.at.Sub(r.last.at), Usage: now.usage, Engine: now.engine,
		Errors: r.failures.take(), Waiting: stats.Waiting, Backlog: r.pace.backlog(Now()), Goroutines: int64(runtime.NumGoroutine()),
	}
	figures.Subtract(&s.Engine, &r.last.engine)
	figures.Subtract(&s.Usage, &r.last.usage)
	r.tally.take(s, last)
	r.last = now
	return s
}
