package dispatcher

import (
	"container/heap"
	"time"

	"github.com/wheellock/wheellock/internal/gate"
	"github.com/wheellock/wheellock/wheel"
)

// A renewal, or another alarm of a machine, is kept in two layers. In the slots it costs a list entry, however far away
// it is. A few ticks before it is due it moves to a heap, whose nearest alarm one timer meets exactly.
//
// The loop is woken for a slot by the waker, and by the same timer, wheel.Grace later, should the waker fail.

// lead is how many ticks before it is due an alarm leaves its slot for the heap: slots open up to 12 ms late,
// up to wheel.Grace when the waker fails, and the end of a lease must be met exactly.
const lead = 3

const (
	// woken is the Due of an entry that was woken in this turn, so that schedule sets its alarm anew.
	woken gate.Time = -1
	// minAlarm is between two alarms of one name: one that asks at once again for what it could not do must not keep
	// the loop busy.
	minAlarm = time.Millisecond
)

// armTick has the loop woken for a slot that has just got its first entry.
func (d *Dispatcher) armTick(at wheel.Tick) {
	d.wakeAt(at)
	d.lookAt = min(d.lookAt, at.Begin(Tick)+wheel.Grace, d.checked+lookEvery)
}

// nextLook is when the loop is to open slots whether it was woken for them or not. Once that time has come, the next one
// is sought: the first slot that holds anything, and no more than lookEvery away. Never: all slots are empty.
func (d *Dispatcher) nextLook(now gate.Time) gate.Time {
	if d.lookAt > now {
		return d.lookAt
	}
	d.lookAt = min(firstLook(d.slots, now), firstLook(d.acks, now), firstLook(d.cfg.Gate.Waits, now))
	return d.lookAt
}

func firstLook[T any](s *wheel.Slots[T], now gate.Time) gate.Time {
	if s.Len() == 0 {
		return gate.Never
	}
	at := now + lookEvery
	for tick := range s.Occupied() {
		at = min(at, tick.Begin(Tick)+wheel.Grace)
		break
	}
	return at
}

// schedule puts the next alarm of an entry where it belongs: into a slot, or, when it is near, into the heap.
func (d *Dispatcher) schedule(c *gate.Entry, now gate.Time) {
	at := c.Machine.NextAlarm()
	if at == c.Due {
		return
	}
	if c.Due == woken {
		at = max(at, now+minAlarm)
	}
	c.Due = at
	if at == gate.Never {
		d.slots.Remove(&c.Alarm)
		return
	}
	d.place(c, now)
}

func (d *Dispatcher) place(c *gate.Entry, now gate.Time) {
	tick := wheel.Floor(c.Due, Tick) - lead
	if tick > wheel.Floor(now, Tick) {
		d.slots.Put(&c.Alarm, tick)
		return
	}
	d.slots.Remove(&c.Alarm)
	d.near.add(c)
}

// ringDue wakes the machines whose alarms are due.
func (d *Dispatcher) ringDue(now gate.Time) {
	if tick := wheel.Floor(now, Tick); !d.slots.Quiet(tick) {
		for c := range d.slots.Due(tick) {
			d.place(c, now)
		}
	}
	for len(d.near.alarms) > 0 && d.near.alarms[0].at <= now {
		next := heap.Pop(&d.near.alarms).(nearAlarm)
		if c := next.entry; !next.stale() {
			c.Due = woken
			c.Machine.Wake(now, &d.fx)
			d.stepped(c)
		}
	}
}

// giveUpDue settles who has waited for as long as was asked for. It comes after the mail: an answer that is there counts,
// also when this process stood still meanwhile.
func (d *Dispatcher) giveUpDue(now gate.Time) {
	tick := wheel.Floor(now, Tick)
	if d.cfg.Gate.Waits.Quiet(tick) && d.acks.Quiet(tick) {
		return
	}
	for w := range d.cfg.Gate.Waits.Due(tick) {
		c := w.Entry
		c.Machine.Timeout(now, w, &d.fx)
		d.stepped(c) // w may serve another call already
	}
	for a := range d.acks.Due(tick) {
		a.overdue = true
		a.Settle(gate.Unanswered)
	}
}
