package load

import (
	"math"
	"sync/atomic"
	"time"
)

// pace is the schedule of an open loop. Calls are due at even distances from the start of the run, never
// from the end of an earlier call: a slow lock does not slow down those who want it. The processes of a run
// take turns on one schedule. Any goroutine may use it.
type pace struct {
	rate               float64 // per second, over all processes; 0: closed loop, calls are due at once
	process, processes float64
	start              Instant      // set before the first take
	taken              atomic.Int64 // calls given out, due or not
	begun              atomic.Int64 // calls that were due and are under way, or over
}

// take gives out the next call of the schedule; 0: it is due at once.
func (p *pace) take() (due Instant) {
	if p.rate == 0 {
		return 0
	}
	i := float64(p.taken.Add(1) - 1)
	return p.start + Instant((i*p.processes+p.process)*float64(time.Second)/p.rate)
}

// backlog is how many calls are due and not begun.
func (p *pace) backlog(now Instant) int64 {
	if p.rate == 0 || now < p.start {
		return 0
	}
	turns := now.Sub(p.start).Seconds() * p.rate
	due := int64(math.Floor((turns-p.process)/p.processes)) + 1
	return max(due-p.begun.Load(), 0)
}
