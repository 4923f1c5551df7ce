package bubble

import (
	"sync/atomic"
	"time"
)

// clock is the monotonic clock of a process: it may run faster or slower, and does not count suspension.
type clock struct {
	rate      float64
	suspended atomic.Int64 // ns of this life
}

func (c *clock) start() { c.suspended.Store(0) }

// count is what it has counted when truly so much time has passed.
func (c *clock) count(since time.Duration) time.Duration {
	return since + time.Duration(float64(since)*c.rate) - c.hidden()
}

func (c *clock) hidden() time.Duration { return time.Duration(c.suspended.Load()) }

// truly is how long d by the clock is.
func (c *clock) truly(d time.Duration) time.Duration { return time.Duration(float64(d) / (1 + c.rate)) }
