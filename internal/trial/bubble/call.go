package bubble

import (
	"sync"
	"time"
)

// calls are those that have not returned, each with its bound.
type calls struct {
	w *World

	mu      sync.Mutex // guards the rest
	pending map[*pending]struct{}
}

// pending is a call.
type pending struct {
	p      *process
	what   string
	began  time.Time
	within time.Duration
	paused time.Duration // for how long the process had been kept from running by then
}

// bounded runs a call that must return within a time, in which its process runs.
func (c *calls) bounded(p *process, what string, within time.Duration, call func()) {
	one := &pending{p, what, time.Now(), within + slack, time.Duration(p.paused.Load()) - p.keptFor()}
	c.mu.Lock()
	if c.pending == nil {
		c.pending = make(map[*pending]struct{})
	}
	c.pending[one] = struct{}{}
	c.mu.Unlock()
	call()
	c.mu.Lock()
	delete(c.pending, one)
	c.mu.Unlock()
	if late := one.late(); late > 0 {
		c.w.violation("bound", "%v: %s returned after %v, %v too late", p, what, time.Since(one.began), late)
	}
}

// late is how much later than it may it is.
func (one *pending) late() time.Duration {
	paused := time.Duration(one.p.paused.Load()) - one.paused
	return time.Since(one.began) - 2*paused - one.p.clock.truly(one.within) - one.within/100
}

// run looks for calls that do not return.
func (c *calls) run() {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-c.w.done:
			return
		case <-tick.C:
		}
		c.mu.Lock()
		for one := range c.pending {
			if late := one.late(); late > time.Second {
				c.w.violation("bound", "%v: %s has not returned after %v, %v too late", one.p, one.what, time.Since(one.began), late)
				delete(c.pending, one)
			}
		}
		c.mu.Unlock()
	}
}
