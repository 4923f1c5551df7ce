package load

import (
	"context"
	"runtime"
	"time"
)

// glance is how often a caller that stays in its section looks whether its hold has ended: well within the
// margin of a watched lease, 300 ms, that a holder has for leaving. Hold.Done would cost each hold a channel.
const glance = 50 * time.Millisecond

// letRun is every how many sections that last no time let others run in the middle, so that a second holder has time to be found.
const letRun = 64

// goroutine is a caller as a goroutine, which blocks.
type goroutine struct {
	*caller
	alternating
	woken chan struct{} // by the waker; never more than one is on its way
	wake  func()
}

func newGoroutine(c *caller) *goroutine {
	g := &goroutine{caller: c, woken: make(chan struct{}, 1)}
	g.wake = func() { g.woken <- struct{}{} }
	return g
}

func (g *goroutine) run() {
	defer g.rig.running.Done()
	for g.sleep(g.untilDue()) {
		g.begin()
		entered, rest := g.granted(g.ask())
		if !entered {
			g.sleep(rest)
			continue
		}
		g.stay()
		g.leave()
		g.released(g.hold.Unlock(context.Background()))
		g.yield()
		g.sleep(g.rig.plan.Think)
	}
}

// stay is the critical section.
func (g *goroutine) stay() {
	if g.rig.plan.Hold == 0 {
		if g.turn%letRun == 0 {
			runtime.Gosched()
		}
		return
	}
	g.awaitAsk()
	until := Now() + Instant(g.rig.plan.Hold)
	for left := g.rig.plan.Hold; left > 0 && !g.mustLeave(); left = until.Sub(Now()) {
		g.sleep(min(left, glance))
	}
}

// sleep is over after d, or when the run ends: then it is false.
func (g *goroutine) sleep(d time.Duration) bool {
	if d > 0 {
		g.rig.waker.at(Now()+Instant(d), g.wake)
		<-g.woken
	}
	return !g.rig.isEnding()
}
