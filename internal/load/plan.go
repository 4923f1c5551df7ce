package load

import (
	"math"
	"time"
)

// Plan says what one run does, in all its processes. It goes to child processes and into reports as JSON.
type Plan struct {
	Prefix    string        `json:"prefix"` // of every key the run touches
	Kind      Kind          `json:"kind"`
	Readers   float64       `json:"readers"` // rw: the share of calls that read
	Permits   int           `json:"permits"` // semaphore, permits: of each name
	Names     int           `json:"names"`
	Zipf      float64       `json:"zipf"`      // exponent of the names' popularity; 0: all alike
	Workers   int           `json:"workers"`   // callers, over all processes
	From      int           `json:"from"`      // callers in the first of several steps; Workers are in the last
	Steps     int           `json:"steps"`     // of the measured time, in which callers or calls grow; 0: they do not
	Rate      float64       `json:"rate"`      // calls per second over all processes; 0: closed loop
	FromRate  float64       `json:"from_rate"` // calls per second in the first of several steps; Rate is in the last
	Async     bool          `json:"async"`     // callers are futures, not goroutines
	Hold      time.Duration `json:"hold_ns"`
	Think     time.Duration `json:"think_ns"`
	Lease     time.Duration `json:"lease_ns"`   // fixed lease; 0: the watchdog renews
	Wait      time.Duration `json:"wait_ns"`    // 0: for as long as it takes
	Handoff   time.Duration `json:"handoff_ns"` // engine.Options.HandoffTime; 0: its default, negative: off
	Check     int           `json:"check"`      // one section in so many is counted in Redis too; 0: none
	Processes int           `json:"processes"`
	Duration  time.Duration `json:"duration_ns"`
	Warmup    time.Duration `json:"warmup_ns"`
	Seed      uint64        `json:"seed"`
}

// WatchedLease is how long Redis keeps the lock of a process that died, when the watchdog renews it: the
// engine's default.
const WatchedLease = 30 * time.Second

// LeaseTime is how long a lock outlives a process that dies with it.
func (p *Plan) LeaseTime() time.Duration {
	if p.Lease > 0 {
		return p.Lease
	}
	return WatchedLease
}

// Grows reports whether there are more callers, or more calls a second, from step to step.
func (p *Plan) Grows() bool { return p.Steps > 1 }

// Callers is how many callers there are in a step, from 0 on.
func (p *Plan) Callers(step int) int {
	return int(math.Round(p.grown(float64(p.From), float64(p.Workers), step)))
}

// RateIn is how many calls a second are due in a step.
func (p *Plan) RateIn(step int) float64 { return p.grown(p.FromRate, p.Rate, step) }

// grown is a value in a step: each time by the same factor more. A value that begins at 0 does not grow.
func (p *Plan) grown(from, to float64, step int) float64 {
	if from == 0 {
		return to
	}
	return from * math.Pow(to/from, float64(step)/float64(p.Steps-1))
}

// share is how many of the callers belong to a process: the i-th caller belongs to process i % Processes.
func (p *Plan) share(process int) int {
	return (p.Workers - process + p.Processes - 1) / p.Processes
}
