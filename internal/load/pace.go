package load

import (
	"math"
	"sync/atomic"
	"time"
)

// pace is the schedule of an open loop. Calls are due at even distances from the start of the run, never
// from the end of an earlier call: a slow lock does not slow down its callers. The processes of a run
// take turns on one schedule. Any goroutine may use it.
type pace struct {
	stretches          []stretch // nil: closed loop, calls are due at once
	process, processes float64
	start              Instant      // set before the first take
	taken              atomic.Int64 // calls given out, due or not
	begun              atomic.Int64 // calls that were due and are under way, or over
}

// stretch is a part of the schedule in which calls are due at one rate.
type stretch struct {
	from  float64 // when it begins, in seconds since the start
	calls float64 // that are due before it, over all processes
	rate  float64 // per second, over all processes
}

// schedule is that of a plan: the warm-up has the rate of the first step.
func schedule(p *Plan) (all []stretch) {
	if p.Rate == 0 {
		return nil
	}
	all = []stretch{{rate: p.RateIn(0)}}
	for step := 1; step < p.Steps; step++ {
		last, from := all[step-1], (p.Warmup + p.Duration*time.Duration(step)/time.Duration(p.Steps)).Seconds()
		all = append(all, stretch{from, last.calls + (from-last.from)*last.rate, p.RateIn(step)})
	}
	return all
}

// in is the last stretch that has begun.
func (p *pace) in(begun func(*stretch) bool) *stretch {
	i := len(p.stretches) - 1
	for i > 0 && !begun(&p.stretches[i]) {
		i--
	}
	return &p.stretches[i]
}

// take gives out the next call of the schedule; 0: it is due at once.
func (p *pace) take() (due Instant) {
	if p.stretches == nil {
		return 0
	}
	call := float64(p.taken.Add(1)-1)*p.processes + p.process // of all processes
	s := p.in(func(s *stretch) bool { return s.calls <= call })
	return p.start + Instant(s.from*float64(time.Second)+(call-s.calls)*float64(time.Second)/s.rate)
}

// backlog is how many calls are due and not begun.
func (p *pace) backlog(now Instant) int64 {
	if p.stretches == nil || now < p.start {
		return 0
	}
	past := now.Sub(p.start).Seconds()
	s := p.in(func(s *stretch) bool { return s.from <= past })
	turns := s.calls + (past-s.from)*s.rate
	due := int64(math.Floor((turns-p.process)/p.processes)) + 1
	return max(due-p.begun.Load(), 0)
}
