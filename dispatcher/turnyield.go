package dispatcher

import (
	"runtime"
	"time"

	"github.com/wheellock/wheellock/internal/gate"
)

// turnYield lets callers run before a turn of the loop. The first event wakes the loop while many who were answered
// in the turn before are about to ask again: when they may run first their events make one batch, not many.
//
// Go has a goroutine that steps aside wait until every other has had its turn, which may take long in a process
// that is busy with other things. What took long and brought few events is not done again for a while, and not at
// all while a deadline is near.
type turnYield struct {
	notBefore gate.Time
	began     gate.Time // of the last one; 0: there was none before this turn
}

const (
	// fairYieldCost is what a yield may cost, and for each event of its turn.
	fairYieldCost = 20 * time.Microsecond
	// yieldRest is how long there are none after one that cost too much, in times of what it cost.
	yieldRest = 100
	// nearAlarms is how soon an alarm must be due that there is none.
	nearAlarms = 5 * time.Millisecond
)

// before steps aside, unless it does not pay or an alarm is due soon, and reports whether it did.
func (c *turnYield) before(now, alarm gate.Time) bool {
	c.began = 0
	if now < c.notBefore || alarm-now < nearAlarms {
		return false
	}
	c.began = now
	runtime.Gosched()
	return true
}

// after looks at what it has brought.
func (c *turnYield) after(now gate.Time, letters int) {
	if took := now - c.began; c.began != 0 && took > fairYieldCost*time.Duration(1+letters) {
		c.notBefore = now + yieldRest*took
	}
}
