package load

import (
	"math"
	"time"
)

// Plan says what one run does, in all its processes. It goes to child processes and into reports as JSON.
type Plan struct {
	Prefix      string        `json:"prefix"` // of every key the run touches
	Kind        Kind          `json:"kind"`
	Readers     float64       `json:"readers"` // rw: the share of calls that read
	Permits     int           `json:"permits"` // semaphore, permits: of each name
	Names       int           `json:"names"`
	Zipf        float64       `json:"zipf"`    // exponent of the names' popularity; 0: all alike
	Workers     int           `json:"workers"` // callers, over all processes
	From        int           `json:"from"`    // callers in the first of several steps; Workers are in the last
	Steps       int           `json:"steps"`   // of the measured time, in which callers grow; 0: they do not
	Rate        float64       `json:"rate"`    // calls per second over all processes; 0: closed loop
	Async       bool          `json:"async"`   // callers are futures, not goroutines
	Hold        time.Duration `json:"hold_ns"`
	Think       time.Duration `json:"think_ns"`
	Lease       time.Duration `json:"lease_ns"`    // fixed lease; 0: the watchdog renews
	Wait        time.Duration `json:"wait_ns"`     // 0: for as long as it takes
	Handoff     time.Duration `json:"handoff_ns"`  // engine.Options.HandoffTime; 0: its default, negative: off
	Dispatchers int           `json:"dispatchers"` // engine.Options.Dispatchers; 0: its default
	Check       int           `json:"check"`       // one section in so many is counted in Redis too; 0: none
	Processes   int           `json:"processes"`
	Duration    time.Duration `json:"duration_ns"`
	Warmup      time.Duration `json:"warmup_ns"`
	Seed        uint64        `json:"seed"`
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

// Grows reports whether there are more callers from step to step.
func (p *Plan) Grows() bool { return p.Steps > 1 }

// Callers is how many callers there are in a step, from 0 on: each time by the same factor more.
func (p *Plan) Callers(step int) int {
	if !p.Grows() {
		return p.Workers
	}
	done := float64(step) / float64(p.Steps-1)
	return int(math.Round(float64(p.From) * math.Pow(float64(p.Workers)/float64(p.From), done)))
}

// share is how many of the callers belong to a process: the i-th caller belongs to process i % Processes.
func (p *Plan) share(process int) int {
	return (p.Workers - process + p.Processes - 1) / p.Processes
}
