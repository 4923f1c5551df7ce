package dispatcher

import (
	"cmp"
	"time"

	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/wheel"
)

// A renewal, or another alarm of a machine, waits in slots of one Tick, however far away it is. A few ticks before it is due it
// moves to slots of one nearTick, of which one timer meets the first.
//
// The loop is woken for a slot of one Tick by the waker, and by the same timer, wheel.Grace later, should the waker fail.

const (
	// lead is how many ticks before it is due an alarm moves to the near slots: the others open up to 12 ms late, up to
	// wheel.Grace when the waker fails, and the end of a lease must be met.
	lead = 3
	// nearTick is how late the timer is aimed at most for an alarm: a twentieth of the least margin of a lease.
	nearTick = 250 * time.Microsecond
	// nearSlots times nearTick is a horizon of 64 ms: more than lead.
	nearSlots = 256
)

const (
	// woken is the Due of an entry that was woken in this turn, so that schedule sets its alarm anew.
	woken gate.Time = -1
	// minAlarm is between two alarms of one name: one that asks at once again for what it could not do must not keep
	// the loop busy.
	minAlarm = time.Millisecond
)

// deadlines keeps the alarms of the machines and the time-outs of the waiters.
type deadlines struct {
	gates *gates     // has the machines that are woken
	clock *turnClock // by which the loop takes turns

	slots *wheel.Slots[*gate.Entry]
	near  *wheel.Slots[*gate.Entry]
	waits *wheel.Slots[*gate.Waiter] // until when callers wait
	acks  *acks
	timer loopTimer

	waker  *wheel.Waker
	wakeAt func(wheel.Tick) // the waker's Set
	lookAt gate.Time        // when to open slots without having been woken; Never: nothing is due later
	nearAt gate.Time        // no near alarm is due before
}

// slots times Tick is the horizon of the slots, 20 s: longer than a renewal interval or a wait usually is, and within
// the reach of the waker.
const slots = 2048

// makeSlots makes all slots; each asks for a wake-up when its first entry comes.
func (d *deadlines) makeSlots() {
	d.slots = wheel.NewSlots[*gate.Entry](slots, d.arm)
	d.near = wheel.NewSlots[*gate.Entry](nearSlots, nil)
	d.waits = wheel.NewSlots[*gate.Waiter](slots, d.arm)
	d.acks.slots = wheel.NewSlots[*Ack](ackSlots, d.arm)
	d.gates.cfg.Waits = d.waits
}

// run starts what wakes the loop: the waker, and the timer for near alarms.
func (d *deadlines) run(wake func()) {
	d.waker = wheel.NewWaker(d.clock.Clock, Tick, wake)
	d.wakeAt = d.waker.Set
	d.timer.start(wake)
}

// arm has the loop woken for a slot that has just got its first entry.
func (d *deadlines) arm(at wheel.Tick) {
	d.wakeAt(at)
	d.lookAt = min(d.lookAt, at.Begin(Tick)+wheel.Grace, d.clock.checked+lookEvery)
}

// nextLook is when the loop is to open slots whether it was woken for them or not. Once that time has come, the next one
// is sought: the first slot that holds anything, and no more than lookEvery away. Never: all slots are empty.
func (d *deadlines) nextLook(now gate.Time) gate.Time {
	if d.lookAt > now {
		return d.lookAt
	}
	d.lookAt = min(firstLook(d.slots, now), firstLook(d.acks.slots, now), firstLook(d.waits, now))
	return d.lookAt
}

func firstLook[T any](s *wheel.Slots[T], now gate.Time) gate.Time {
	tick, any := s.Next()
	if !any {
		return gate.Never
	}
	return min(now+lookEvery, tick.Begin(Tick)+wheel.Grace)
}

// schedule puts the next alarm of an entry where it belongs.
func (d *deadlines) schedule(e *gate.Entry, now gate.Time) {
	at := e.Machine.NextAlarm()
	if at == e.Due {
		return
	}
	if e.Due == woken {
		at = max(at, now+minAlarm)
	}
	e.Due = at
	if at == gate.Never {
		e.Alarm.Remove()
		return
	}
	d.place(e, now)
}

func (d *deadlines) place(e *gate.Entry, now gate.Time) {
	if tick := wheel.Floor(e.Due, Tick) - lead; tick > wheel.Floor(now, Tick) {
		d.slots.Put(&e.Alarm, tick)
		return
	}
	tick := wheel.Ceil(e.Due, nearTick)
	d.near.Put(&e.Alarm, tick)
	d.nearAt = min(d.nearAt, tick.Begin(nearTick))
}

// forget takes out the alarm of an idle entry.
func (d *deadlines) forget(e *gate.Entry) {
	e.Due = gate.Never
	e.Alarm.Remove()
}

// setTimer sets the timer for what is due next: an alarm, a look at the slots, or also.
func (d *deadlines) setTimer(now, also gate.Time) {
	d.timer.setTimer(now, min(also, d.nearAt, d.nextLook(now)))
}

// wakeDue wakes the machines that have an alarm due.
func (d *deadlines) wakeDue(now gate.Time) {
	if tick := wheel.Floor(now, Tick); !d.slots.Quiet(tick) {
		for e := range d.slots.Due(tick) {
			d.place(e, now)
		}
	}
	if now < d.nearAt {
		return
	}
	for e := range d.near.Due(wheel.Floor(now, nearTick)) {
		e.Due = woken
		e.Machine.Wake(now, &d.gates.fx)
		d.gates.stepped(e)
	}
	d.nearAt = gate.Never
	if tick, any := d.near.Next(); any {
		d.nearAt = tick.Begin(nearTick)
	}
}

// giveUpDue settles the waiters that have timed out. It comes after the mail: an answer that is there counts,
// also when this process stood still meanwhile.
func (d *deadlines) giveUpDue(now gate.Time) {
	tick := wheel.Floor(now, Tick)
	if d.waits.Quiet(tick) && d.acks.slots.Quiet(tick) {
		return
	}
	for w := range d.waits.Due(tick) {
		e := w.Entry
		e.Machine.EndWait(now, w, gate.TimedOut, &d.gates.fx)
		d.gates.stepped(e) // w may serve another call already
	}
	d.acks.giveUp(tick)
}

// Ack is a caller that waits a limited time for the answer to an unlock, an extension, a force or a change. When that time is
// over the loop answers in Redis's place; what was sent runs its course, and its answer is dropped. It costs a
// place in a slot, as a wait does, not a timer.
type Ack struct {
	By     gate.Settler
	Within time.Duration // counted from when the loop hears of it; 0: as long as it takes

	// Owned by loop until By is settled; then by the caller.
	place   wheel.Timer[*Ack]
	at      *bool // while the event is read that brought it: where to note that it is settled
	settled bool
	overdue bool
	refusal gate.Outcome // the last, if Redis refused what the caller waits for
}

// ackSlots times Tick is the horizon of their slots, 5 s: further away they are put off.
const ackSlots = 512

// Overdue reports whether time has settled it: then the answer is still to come, and it must not be used again.
// Only the caller that was settled by it may ask.
func (a *Ack) Overdue() bool { return a.overdue }

// Note is what Redis says before the answer.
func (a *Ack) Note(out gate.Outcome) {
	if out.Why == gate.Refused {
		a.refusal = out
		a.refusal.Why, a.refusal.Last = gate.Doubtful, gate.Refused
	}
}

// Settle is the answer. It implements gate.Settler.
func (a *Ack) Settle(out gate.Outcome) bool {
	if a.settled {
		return false
	}
	a.settled = true
	if a.at != nil {
		*a.at = true
	}
	a.place.Remove()
	return a.By.Settle(out)
}

// acks are the callers that wait a limited time for an answer.
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
	a.at, a.place.Value = nil, a
	as.slots.Put(&a.place, wheel.Ceil(now+a.Within, Tick))
}

// giveUp answers the callers that have waited long enough, in Redis's place.
func (as *acks) giveUp(tick wheel.Tick) {
	for a := range as.slots.Due(tick) {
		a.overdue = true
		a.Settle(cmp.Or(a.refusal, gate.Unanswered))
	}
}

// turnClock is the clock as the turns of the loop read it.
type turnClock struct {
	*wheel.Clock
	checked  gate.Time // when the clock was last compared for suspension
	measured gate.Time // when suspension was last measured
}

// beginTurn reads the clock at the beginning of a turn, every now and then after a look for suspension, which takes longer.
func (t *turnClock) beginTurn() gate.Time {
	now := t.Now()
	if now-t.checked < checkEvery {
		return now
	}
	if now-t.measured >= lookEvery {
		t.Check()
		t.measured = now
	}
	t.checked = t.Checked()
	return t.checked
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
// trust now only where an older time is the safe side, or where it does not matter for exclusion:
//
//   - A lease counts from Sent, which is read before the command is written: earlier is safe.
//   - Whether a hold is valid its holder decides, by a reading of its own (engine.Hold.Err). What the loop takes for alive
//     with an old now is over for the holder, which tells the loop so; loss is final by one compare-and-swap.
//   - A hold that is granted with an old now has its deadline from Sent, and may be over when it is handed out: its first
//     look at the clock says so.
//   - When a key has surely run out (Tenure.Ends) is counted from when the answer was taken back, after the command had run.
//   - Pauses, handing on within HandoffTime: too late or too early costs time, not exclusion.
//
// What came due while mail was handled is looked for again before anything is sent.
const clockStride = 16
