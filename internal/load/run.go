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
// and the drain begins. When hurry ends, the drain waits for nobody, and does not judge the waiters.
// When Run returns, its engine is closed and all it held is freed, unless calls are stuck.
func (r *Rig) Run(end, hurry context.Context, emit func(*Sample)) {
	r.last = cut{at: time.Now(), usage: usage.Now()}
	r.pace.start = Now()
	r.start()
	if r.phase(end, WarmUp, r.plan.Warmup, 1, emit) {
		r.phase(end, Measured, r.plan.Duration, max(r.plan.Steps, 1), emit)
	}
	r.stop()
	ending := r.drain(hurry)
	s := r.cut(Drain, true)
	s.Ending = ending
	emit(s)
}

// phase lets the load run for a time, in steps with more and more callers or calls, and cuts a sample every interval and at the end of each
// step. After a pause of the machine of more than half a sample the samples to come are later, or they would be over before they began.
// False: end came before.
func (r *Rig) phase(end context.Context, phase Phase, length time.Duration, steps int, emit func(*Sample)) (whole bool) {
	start := r.last.at // each sample's end counts from here, so that the delays of single samples do not add up
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for done := time.Duration(0); done < length; {
		stepEnd, before := length*time.Duration(r.step+1)/time.Duration(steps), done
		done = min((done + r.interval).Truncate(r.interval), stepEnd)
		timer.Reset(time.Until(start.Add(done)))
		select {
		case <-timer.C:
			if late := time.Since(start.Add(done)); late > (done-before)/2 {
				start = start.Add(late)
			}
		case <-end.Done():
			done, length = 0, 0
		}
		emit(r.cut(phase, done == length))
		if done == stepEnd && done < length {
			r.step++
			r.start()
		}
	}
	return end.Err() == nil
}

// cut makes a sample of what happened since the last cut. last: it is the last of its phase.
func (r *Rig) cut(phase Phase, last bool) *Sample {
	engine, waiting := r.counts()
	now := cut{at: time.Now(), engine: engine, usage: usage.Now()}
	s := &Sample{
		Process: r.process, Phase: phase, Step: r.step, Last: last, Elapsed: now.at.Sub(r.last.at), Usage: now.usage, Engine: now.engine,
		Errors: r.failures.take(), Waiting: waiting, Backlog: r.pace.backlog(Now()), Goroutines: int64(runtime.NumGoroutine()),
	}
	figures.Subtract(&s.Engine, &r.last.engine)
	figures.Subtract(&s.Usage, &r.last.usage)
	s.Usage.MaxRSS = now.usage.MaxRSS
	r.tally.take(s, last)
	if r.contest != nil && last && phase == Measured {
		r.countWaits(&s.Times)
	}
	r.last = now
	return s
}
