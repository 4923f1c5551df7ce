package dispatcher

import (
	"time"

	"github.com/wheellock/wheellock/internal/gate"
	"github.com/wheellock/wheellock/wheel"
)

// turnClock is the clock as the turns of the loop read it.
type turnClock struct {
	*wheel.Clock
	checked  gate.Time // when the clock was last compared for suspension
	measured gate.Time // when suspension was last measured
}

// beginTurn reads the clock at the beginning of a turn, every now and then after a look for suspension, which takes longer.
func (c *turnClock) beginTurn() gate.Time {
	now := c.Now()
	if now-c.checked < checkEvery {
		return now
	}
	if now-c.measured >= lookEvery {
		c.Check()
		c.measured = now
	}
	c.checked = c.Checked()
	return c.checked
}

const (
	// checkEvery is between two looks for suspension at what the wall clock shows. A holder looks for itself.
	checkEvery = time.Millisecond
	// lookEvery is between two turns, at most, while anything is due later. In each suspension is measured, for nothing
	// else may wake the loop after one: timers do not count the time of a suspension.
	lookEvery = time.Second
)

// clockStride is how many events or answers are handled by one reading of the clock: a few microseconds' work when the
// goroutine runs.
//
// It may not run: preemption, SIGSTOP or a suspended machine can make now older than the truth by any time. So the loop may
// trust now only where an older time is the safe side, or where it does not matter for who holds a lock:
//
//   - A lease counts from Sent, which is read before the command is written: earlier is safe.
//   - Whether a hold is valid its holder decides, by a reading of its own (engine.Hold.Err). What the loop takes for alive
//     with an old now is over for the holder, who tells the loop so; loss is final by one compare-and-swap.
//   - A hold that is granted with an old now has its deadline from Sent, and may be over when it is handed out: its first
//     look at the clock says so.
//   - When a key has surely run out (Tenure.Ends) is counted from when the answer was taken back, after the command had run.
//   - Pauses, yields, handing on within HandoffTime: too late or too early costs time, not exclusion.
//
// What came due while mail was handled is looked for again before anything is sent.
const clockStride = 16
