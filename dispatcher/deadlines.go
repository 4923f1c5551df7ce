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

// deadlines is when machines are to be woken, and who waits until when.
type deadlines struct {
	gates *gates     // whose machines are woken
	clock *turnClock // by which the loop takes turns

	slots *wheel.Slots[*gate.Entry]
	near  nearby
	waits *wheel.Slots[*gate.Waiter] // until when callers wait
	acks  *acks

	wakeAt func(wheel.Tick) // asks the engine's waker
	lookAt gate.Time        // when to open slots without having been woken; Never: nothing is due later
}

// slots times Tick is the horizon of the slots, 20 s: longer than a renewal interval or a wait usually is, and within
// the reach of the waker.
const slots = 2048

// makeSlots makes all slots; each asks for a wake-up when its first entry comes.
func (ds *deadlines) makeSlots() {
	ds.slots = wheel.NewSlots[*gate.Entry](slots, ds.arm)
	ds.waits = wheel.NewSlots[*gate.Waiter](slots, ds.arm)
	ds.acks.slots = wheel.NewSlots[*Ack](ackSlots, ds.arm)
	ds.gates.cfg.Waits = ds.waits
}

// run says who wakes the loop: the waker, and the timer for what is near.
func (ds *deadlines) run(waker *wheel.Waker, wake func()) {
	ds.wakeAt = waker.Sleeper(wake).At
	ds.near.start(wake)
}

// arm has the loop woken for a slot that has just got its first entry.
func (ds *deadlines) arm(at wheel.Tick) {
	ds.wakeAt(at)
	ds.lookAt = min(ds.lookAt, at.Begin(Tick)+wheel.Grace, ds.clock.checked+lookEvery)
}

// nextLook is when the loop is to open slots whether it was woken for them or not. Once that time has come, the next one
// is sought: the first slot that holds anything, and no more than lookEvery away. Never: all slots are empty.
func (ds *deadlines) nextLook(now gate.Time) gate.Time {
	if ds.lookAt > now {
		return ds.lookAt
	}
	ds.lookAt = min(firstLook(ds.slots, now), firstLook(ds.acks.slots, now), firstLook(ds.waits, now))
	return ds.lookAt
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
func (ds *deadlines) schedule(c *gate.Entry, now gate.Time) {
	at := c.Machine.NextAlarm()
	if at == c.Due {
		return
	}
	if c.Due == woken {
		at = max(at, now+minAlarm)
	}
	c.Due = at
	if at == gate.Never {
		ds.slots.Remove(&c.Alarm)
		return
	}
	ds.place(c, now)
}

func (ds *deadlines) place(c *gate.Entry, now gate.Time) {
	tick := wheel.Floor(c.Due, Tick) - lead
	if tick > wheel.Floor(now, Tick) {
		ds.slots.Put(&c.Alarm, tick)
		return
	}
	ds.slots.Remove(&c.Alarm)
	ds.near.add(c)
}

// forget takes out the alarm of an idle entry.
func (ds *deadlines) forget(c *gate.Entry) {
	c.Due = gate.Never
	ds.slots.Remove(&c.Alarm)
}

// aim sets the timer for what is due next: an alarm, a look at the slots, or also.
func (ds *deadlines) aim(now, also gate.Time) { ds.near.aim(now, min(also, ds.nextLook(now))) }

// ringDue wakes the machines whose alarms are due.
func (ds *deadlines) ringDue(now gate.Time) {
	if tick := wheel.Floor(now, Tick); !ds.slots.Quiet(tick) {
		for c := range ds.slots.Due(tick) {
			ds.place(c, now)
		}
	}
	for len(ds.near.alarms) > 0 && ds.near.alarms[0].at <= now {
		next := heap.Pop(&ds.near.alarms).(nearAlarm)
		if c := next.entry; !next.stale() {
			c.Due = woken
			c.Machine.Wake(now, &ds.gates.fx)
			ds.gates.stepped(c)
		}
	}
}

// giveUpDue settles who has waited for as long as was asked for. It comes after the mail: an answer that is there counts,
// also when this process stood still meanwhile.
func (ds *deadlines) giveUpDue(now gate.Time) {
	tick := wheel.Floor(now, Tick)
	if ds.waits.Quiet(tick) && ds.acks.slots.Quiet(tick) {
		return
	}
	for w := range ds.waits.Due(tick) {
		c := w.Entry
		c.Machine.Timeout(now, w, &ds.gates.fx)
		ds.gates.stepped(c) // w may serve another call already
	}
	ds.acks.giveUp(tick)
}
