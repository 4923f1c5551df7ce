package load

import (
	"context"
	"runtime"
	"time"
)

// Run runs the load: the warm-up, the measured time, the drain; once. It hands a Sample to emit every second,
// and at the end of each phase; the last has an Ending. When end ends, so does the phase that is under way,
// and the drain begins. When hurry ends, the drain waits for nobody, and does not judge who still waits.
// When Run returns, its engine is closed and all it held is freed, unless calls are stuck.
func (r *Rig) Run(end, hurry context.Context, emit func(*Sample)) {
	r.last = cut{at: time.Now(), usage: usageNow()}
	r.base = make([]int64, len(r.callers))
	r.start()
	whole := r.phase(end, WarmUp, r.plan.Warmup, emit)
	for i, c := range r.callers {
		r.base[i] = c.pairs.Load()
	}
	if whole {
		r.phase(end, Measured, r.plan.Duration, emit)
	}
	r.stop()
	ending := r.drain(hurry)
	s := r.cut(Drain)
	s.Ending, s.Last = ending, true
	emit(s)
}

// phase lets the load run for a time, and cuts a sample every second. False: end came before.
func (r *Rig) phase(end context.Context, phase Phase, length time.Duration, emit func(*Sample)) (whole bool) {
	start := r.last.at
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for done := time.Duration(0); done < length; {
		done = min((done + time.Second).Truncate(time.Second), length)
		timer.Reset(time.Until(start.Add(done)))
		select {
		case <-timer.C:
		case <-end.Done():
			done, length = 0, 0
		}
		s := r.cut(phase)
		s.Last = done == length
		if phase == Measured && s.Last {
			for i, c := range r.callers {
				s.Callers = append(s.Callers, c.pairs.Load()-r.base[i])
			}
		}
		emit(s)
	}
	return end.Err() == nil
}

// cut makes a sample of what happened since the last cut.
func (r *Rig) cut(phase Phase) *Sample {
	stats := r.engine.Stats()
	now := cut{at: time.Now(), engine: engineCounts(&stats), usage: usageNow()}
	s := &Sample{
		Process: r.process, Phase: phase, Elapsed: now.at.Sub(r.last.at), Usage: now.usage.since(r.last.usage), Engine: now.engine,
		Errors: r.failures.take(), Waiting: stats.Waiting, Backlog: r.pace.backlog(Now()), Goroutines: int64(runtime.NumGoroutine()),
	}
	s.Engine.add(&r.last.engine, -1)
	r.tally.take(s)
	r.last = now
	return s
}
