package load

import (
	"time"

	"github.com/wheellock/wheellock/engine"
)

// chain is a caller as a chain of callbacks: no goroutine is its own, and none waits while it waits. The
// steps are bound once, so that a call costs what the engine makes it cost and nothing more.
type chain struct {
	*caller
	until      Instant // when to leave the section
	plan       func()
	ask        func()
	stay       func()
	onHold     func(*engine.Hold, error)
	onPermit   func(struct{}, error)
	onReleased func(struct{}, error)
}

func newChain(c *caller) *chain {
	ch := &chain{caller: c}
	// The waker's goroutine must not do a chain's work: a check in Redis would hold up all others.
	ch.plan, ch.ask, ch.stay = func() { go ch.toPlan() }, func() { go ch.toAsk() }, func() { go ch.toStay() }
	ch.onHold = func(h *engine.Hold, err error) { ch.toEnter(held(h, err)) }
	ch.onPermit = func(_ struct{}, err error) { ch.toEnter(ch.resource.(semaphore), err) }
	ch.onReleased = ch.toFinish
	return ch
}

// toPlan takes the next call, and asks for the lock when the call is due.
func (c *chain) toPlan() {
	if !c.rig.isEnding() {
		if left := c.untilDue(); left > 0 {
			c.rig.waker.at(c.due, c.ask)
			return
		}
	}
	c.toAsk()
}

// toAsk asks for the lock, unless the run ends: then the chain ends here, the only place where it does.
func (c *chain) toAsk() {
	if c.rig.isEnding() {
		c.rig.running.Done()
		return
	}
	c.begin()
	c.resource.getAsync(c.rig.waits, c.rig.terms, c)
}

// toEnter is the answer: a grant, or an error after which the chain may rest.
func (c *chain) toEnter(g Grant, err error) {
	entered, rest := c.granted(g, err)
	if !entered {
		c.rest(rest)
		return
	}
	if c.rig.plan.Hold > 0 {
		c.until = Now() + Instant(c.rig.plan.Hold)
	}
	c.toStay()
}

// toStay leaves the section when it is time, and else looks again before long.
func (c *chain) toStay() {
	if c.rig.plan.Hold > 0 {
		if left := c.until.Sub(Now()); left > 0 && !c.mustLeave() {
			c.rig.waker.at(Now()+Instant(min(left, glance)), c.stay)
			return
		}
	}
	c.leave()
	c.giveBack()
}

func (c *chain) toFinish(_ struct{}, err error) {
	c.released(err)
	c.rest(c.rig.plan.Think)
}

// rest goes on with the next call after d.
func (c *chain) rest(d time.Duration) {
	if d > 0 {
		c.rig.waker.at(Now()+Instant(d), c.plan)
		return
	}
	c.toPlan()
}
