package wheel

import (
	"sync"
	"sync/atomic" // aligned on 32-bit machines, as go.uber.org/atomic is not
	"time"

	"github.com/wheellock/wheellock/wheel/stall"
)

// Clock says how long ago it was started. It never goes back, is not moved by changes of the wall clock, and
// counts the time for which the machine was suspended, which Go's monotonic clock does not: a lease in Redis
// runs on meanwhile. One Clock serves an engine. Any goroutine may call its methods.
//
// Suspension is found by Check, on Linux exactly, from the boot-time clock. Elsewhere only the wall clock
// shows it, so there a wall clock set forward by more than the tolerance counts as suspension too, and holds
// end early; one set back while the machine is suspended hides that much of it.
//
// Check is too dear to be called for every reading. But suspension moves the wall clock away from the monotonic one on
// every system, and one reading of the time tells both: Checked compares them and calls Check only when they have moved
// apart. The owner's loop calls Check about once a second besides, while anything is due later.
type Clock struct {
	start     time.Time    // read for its monotonic part
	suspended atomic.Int64 // nanoseconds found so far; only grows
	wall      int64        // start, by the wall clock, in nanoseconds
	apart     atomic.Int64 // what ahead said when Checked last called Check

	watch stall.Watch
	hint  func() time.Duration // stands for ahead in tests

	mu    sync.Mutex // guards the rest
	gauge gauge
	last  time.Duration // what gauge said last
	known bool          // it has said something
}

// A gauge says how far a clock that counts suspension is ahead of one that does not. Only changes of it mean
// anything. It says false when it could not get a good reading.
type gauge func() (ahead time.Duration, ok bool)

// NewClock starts a clock. In a synctest bubble it must be started inside.
func NewClock() *Clock {
	start := time.Now()
	watch := stall.NewWatch()
	if gauge := watch.Gauge(); gauge != nil {
		c := newClock(start, func() (time.Duration, bool) { return gauge(), true })
		c.watch, c.hint = watch, gauge
		return c
	}
	return newClock(start, func() (time.Duration, bool) { return suspendAhead(start) })
}

func newClock(start time.Time, g gauge) *Clock {
	c := &Clock{start: start, wall: start.UnixNano(), gauge: g}
	c.last, c.known = g()
	return c
}

// Now returns the time since the start: what the monotonic clock counted and the suspension found so far.
func (c *Clock) Now() time.Duration {
	return c.watch.Counted(time.Since(c.start)) + c.found()
}

// Checked is Now after a look for suspension: to be called before a lease is trusted. Inside a turn of a loop Now is enough.
func (c *Clock) Checked() time.Duration {
	t := time.Now()
	since := c.watch.Counted(t.Sub(c.start))
	apart := c.ahead(t, since)
	if (apart - time.Duration(c.apart.Load())).Abs() > suspendTolerance {
		c.Check()
		c.apart.Store(int64(apart))
	}
	return since + c.found()
}

// ahead is how far the wall clock has run ahead of the monotonic one, which counted since, when t was read.
func (c *Clock) ahead(t time.Time, since time.Duration) time.Duration {
	if c.hint != nil {
		return c.hint()
	}
	return time.Duration(t.UnixNano()-c.wall) - since
}

// found is the suspension found so far.
func (c *Clock) found() time.Duration { return time.Duration(c.suspended.Load()) }

// Check looks for suspension since the last Check, adds it to Now and returns it. A loop calls it about once a second,
// Checked when there is a sign of suspension.
//
// A difference up to suspendTolerance is noise. A negative one is not a suspension but, where the wall clock
// is the gauge, a wall clock set back; it must not make Now go back. Both clocks of a gauge must be of one
// kind, read from the system or from package time: a synctest bubble fakes the latter alone, and its time
// runs ahead of the system's while it sleeps, and falls behind while it works.
func (c *Clock) Check() (suspended time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ahead, ok := c.gauge()
	if !ok {
		return 0 // last stays, so the next Check sees what this one missed
	}
	grown := ahead - c.last
	first := !c.known
	c.last, c.known = ahead, true
	if first || grown <= suspendTolerance {
		return 0
	}
	c.suspended.Add(int64(grown))
	return grown
}

// Time returns the instant at which the clock says at, for users: its monotonic reading is exact and the
// same each time unless suspension is found in between; its wall reading is what the wall clock of today
// makes of it.
func (c *Clock) Time(at time.Duration) time.Time {
	t := time.Now()
	now := c.watch.Counted(t.Sub(c.start)) + c.found()
	return t.Add(at - now)
}
