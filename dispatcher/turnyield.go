package dispatcher

import (
	"runtime"
	"time"

	"github.com/wheellock/wheellock/dispatcher/gate"
)

// turnYield lets callers run before a turn of the loop. The first event wakes the loop while many callers that were
// answered in the turn before are about to ask again. If they run first, their events make one batch, not many.
//
// A goroutine that yields waits until every other one has run, which may take long in a process that is busy with other
// things. So the loop does not yield for a while after a yield that took long and brought few events, nor while a
// deadline is near.
type turnYield struct {
	notBefore gate.Time
	began     gate.Time // when the yield before this turn began; 0: there was none
}

const (
	// fairYieldCost is what a yield may cost, and as much again for each event of its turn.
	fairYieldCost = 20 * time.Microsecond
	// yieldRest is for how long the loop does not yield after a yield that cost too much, as a multiple of its cost.
	yieldRest = 100
	// nearAlarms is how near an alarm must be to prevent a yield.
	nearAlarms = 5 * time.Millisecond
)

// yield yields, unless that does not pay or an alarm is near, and returns the time then.
func (t *turnYield) yield(now, alarm gate.Time, clock func() gate.Time) gate.Time {
	t.began = 0
	if now < t.notBefore || alarm-now < nearAlarms {
		return now
	}
	t.began = now
	runtime.Gosched()
	return clock()
}

// learn compares what the yield cost with the number of events that it brought.
func (t *turnYield) learn(now gate.Time, events int) {
	if took := now - t.began; t.began != 0 && took > fairYieldCost*time.Duration(1+events) {
		t.notBefore = now + yieldRest*took
	}
}
