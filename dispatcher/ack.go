package dispatcher

import (
	"time"

	"github.com/wheellock/wheellock/internal/gate"
	"github.com/wheellock/wheellock/wheel"
)

// Ack is who waits for the answer to an unlock, an extension, a force or a change, and for how long. When that time is
// over the loop answers in Redis's place; what was sent runs its course, and its answer is heard by nobody. It costs a
// place in a slot, as a wait does, not a timer.
type Ack struct {
	By     gate.Settler
	Within time.Duration // counted from when the loop hears of it; 0: as long as it takes

	// Owned by loop until By is settled; then by whoever was settled.
	place   wheel.Timer[*Ack]
	slots   *wheel.Slots[*Ack]
	at      *bool // while the event is read that brought it: where to note that it is settled
	settled bool
	overdue bool
}

// ackSlots times Tick is the horizon of their slots, 5 s: further away they are put off.
const ackSlots = 512

// Overdue reports whether time has settled it: then the answer is still to come, and it must not be used again.
// Only who was settled by it may ask.
func (a *Ack) Overdue() bool { return a.overdue }

// Settle is the answer. It implements gate.Settler.
func (a *Ack) Settle(out gate.Outcome) bool {
	if a.settled {
		return false
	}
	a.settled = true
	if a.at != nil {
		*a.at = true
	}
	if a.place.In() {
		a.slots.Remove(&a.place)
	}
	return a.By.Settle(out)
}
