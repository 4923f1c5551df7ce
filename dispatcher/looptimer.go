package dispatcher

import (
	"time"

	"go.uber.org/atomic"

	"github.com/wheellock/wheellock/dispatcher/gate"
)

// loopTimer is the one timer of the loop.
type loopTimer struct {
	timer *time.Timer
	runs  atomic.Bool // the timer has not fired yet
	set   gate.Time   // for when the timer is set, while it runs
}

// minSleep is how long the loop sleeps at least for something that is due already: that must not keep it busy.
const minSleep = 100 * time.Microsecond

// start makes the timer, which calls wake. Until it is first set it is for an hour later.
func (l *loopTimer) start(wake func()) {
	l.timer = time.AfterFunc(time.Hour, func() {
		l.runs.Store(false)
		wake()
	})
}

// setTimer sets the timer. A timer that is set for an earlier time is left alone: the turn that it brings sets it again. Most turns
// move the nearest time, and setting a timer costs more than such a turn now and then.
func (l *loopTimer) setTimer(now, at gate.Time) {
	if at == gate.Never || l.runs.Load() && l.set <= at {
		return
	}
	l.set = at
	l.runs.Store(true) // before Reset: the timer may fire at once
	l.timer.Reset(max(at-now, minSleep))
}
