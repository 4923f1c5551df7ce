package bubble

import (
	"sync"
	"time"
)

// clock is the monotonic clock of a process: it may run faster than true time, and does not count suspension. It never runs slower:
// timers are the bubble's, and would ring before their time. Servers' clocks do both.
type clock struct {
	rate float64

	mu     sync.Mutex // guards the rest
	hidden time.Duration
	from   time.Time // of the last suspension, which hidden does not have
	last   time.Duration
}

// start begins a new life.
func (c *clock) start() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hidden, c.last = 0, 0
}

// suspend has the clock stand still for d from now on.
func (c *clock) suspend(d time.Duration) {
	hidden := c.suspended()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hidden, c.from, c.last = hidden, time.Now(), d
}

// suspended is how much of the time it has not counted.
func (c *clock) suspended() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last == 0 {
		return c.hidden
	}
	return c.hidden + min(c.last, time.Since(c.from))
}

// count is what it has counted when truly so much time has passed.
func (c *clock) count(since time.Duration) time.Duration {
	return since + time.Duration(float64(since)*c.rate) - c.suspended()
}

// truly is how long d by the clock is.
func (c *clock) truly(d time.Duration) time.Duration { return time.Duration(float64(d) / (1 + c.rate)) }
