package wheel

import (
	"context"
	"slices"
	"time"
)

const (
	// checkInterval is how often an Alarm looks after its wheel, and the most by which a faulty wheel can
	// delay a ring.
	checkInterval = time.Second
	// missedBeats is how many checks in a row must miss the heartbeat before the wheel counts as stuck. They
	// are counted, not timed: a process that was stopped makes no checks. Two, for the first check after
	// such a stop may come before the heartbeat that is due as well.
	missedBeats = 2
	// jumpTolerance is by how much the wall clock may be corrected between two checks before the wheel, which
	// follows it, is replaced.
	jumpTolerance = 200 * time.Millisecond
	// stopWait bounds the wait for a wheel that may be stuck.
	stopWait = time.Second
)

// checkWheel replaces a wheel that cannot be trusted. What is overdue meanwhile is rung by the loop itself.
func (a *Alarm) checkWheel() {
	gap := a.ahead()
	jump := gap - a.lastGap
	a.lastGap = gap
	if !a.beaten {
		a.missed++
	}
	switch {
	case jump.Abs() > jumpTolerance:
		a.replaceWheel("wall clock and monotonic clock moved apart", "jump", jump)
	case a.early:
		a.replaceWheel("a timer fired long before its time")
	case a.missed >= missedBeats:
		a.replaceWheel("the heartbeat is missing", "checks", a.missed)
	case a.beaten:
		a.beat()
	}
}

// replaceWheel tells the former hand to stop and does not wait, for it may never hear it: then it is lost with
// its wheel, two or three goroutines that wait for ever. What was armed there is armed anew from the table.
func (a *Alarm) replaceWheel(why string, more ...any) {
	a.logger.Warn("wheellock: timing wheel replaced", append([]any{"why", why}, more...)...)
	a.replaced.Add(1)
	a.hand.stop()
	a.former = slices.DeleteFunc(append(a.former, a.hand), (*hand).ended)
	a.useNewWheel()
	for at := range a.table.Occupied() {
		a.arm(at)
	}
}

func (a *Alarm) useNewWheel() {
	a.hand = newHand(a.newWheel(), a.clock, a.tick, a.mail)
	a.early = false
	a.beat()
}

// beat orders the heartbeat that the next check looks for.
func (a *Alarm) beat() {
	a.beaten, a.missed = false, 0
	a.hand.orders.put(order{beat: true})
}

// stopWheels waits for the wheel in use, and for former ones, which need not have been stuck.
func (a *Alarm) stopWheels() {
	ctx, cancel := context.WithTimeout(context.Background(), stopWait)
	defer cancel()
	a.hand.stop()
	for _, h := range append(a.former, a.hand) {
		select {
		case <-h.stopped:
		case <-ctx.Done():
			if !h.ended() {
				a.logger.Warn("wheellock: a stuck timing wheel is left behind")
			}
		}
	}
}
