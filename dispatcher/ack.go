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

// acks is those who wait for an answer for a time.
type acks struct {
	slots   *wheel.Slots[*Ack]
	settled bool // the ack of the event that is being read
}

// await steps the gates with an event that ack waits for, and has ack settled when its time is over. Most are
// settled during the step, as those of locks that are handed on, and then are their caller's again: only those that are not
// get a place in the slots.
func (as *acks) await(now gate.Time, ack gate.Settler, step func()) {
	a, is := ack.(*Ack)
	if !is || a.Within == 0 {
		step()
		return
	}
	as.settled, a.at = false, &as.settled
	step()
	if as.settled {
		return
	}
	a.at, a.slots, a.place.Value = nil, as.slots, a
	as.slots.Put(&a.place, wheel.Ceil(now+a.Within, Tick))
}

// giveUp answers those whose time is over, in Redis's place.
func (as *acks) giveUp(tick wheel.Tick) {
	for a := range as.slots.Due(tick) {
		a.overdue = true
		a.Settle(gate.Unanswered)
	}
}
