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
func (ch *chain) toPlan() {
	if !ch.rig.isEnding() {
		if left := ch.untilDue(); left > 0 {
			ch.rig.waker.at(ch.due, ch.ask)
			return
		}
	}
	ch.toAsk()
}

// toAsk asks for the lock, unless the run ends: then the chain ends here, the only place where it does.
func (ch *chain) toAsk() {
	if ch.rig.isEnding() {
		ch.rig.running.Done()
		return
	}
	ch.begin()
	ch.resource.getAsync(ch.rig.waits, ch.rig.terms, ch)
}

// toEnter is the answer: a grant, or an error after which the chain may rest.
func (ch *chain) toEnter(g grant, err error) {
	entered, rest := ch.granted(g, err)
	if !entered {
		ch.rest(rest)
		return
	}
	if ch.rig.plan.Hold > 0 {
		ch.until = Now() + Instant(ch.rig.plan.Hold)
	}
	ch.toStay()
}

// toStay leaves the section when it is time, and else looks again before long.
func (ch *chain) toStay() {
	if ch.rig.plan.Hold > 0 {
		if left := ch.until.Sub(Now()); left > 0 && !ch.mustLeave() {
			ch.rig.waker.at(Now()+Instant(min(left, glance)), ch.stay)
			return
		}
	}
	ch.leave()
	ch.giveBack()
}

func (ch *chain) toFinish(_ struct{}, err error) {
	ch.released(err)
	ch.rest(ch.rig.plan.Think)
}

// rest goes on with the next call after d.
func (ch *chain) rest(d time.Duration) {
	if d > 0 {
		ch.rig.waker.at(Now()+Instant(d), ch.plan)
		return
	}
	ch.toPlan()
}
