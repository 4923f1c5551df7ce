package dispatcher

import (
	"container/heap"
	"slices"
	"time"

	"go.uber.org/atomic"

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
	// minSleep is how long the loop sleeps at least for something that is due already, with the same intent.
	minSleep = 100 * time.Microsecond
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

// nearby is the alarms of the next few ticks, met exactly by one timer for the nearest.
type nearby struct {
	timer  *time.Timer
	runs   atomic.Bool // the timer has not fired yet
	set    gate.Time   // for when the timer is set, while it runs
	alarms nearHeap
	most   int // how many alarms there may be before the stale ones are thrown out
}

// minNear is how many alarms are kept in any case.
const minNear = 64

// add sets the alarm of an entry at its Due. The entry's former alarm stays in the heap, stale, until it is due; when more
// than half of the heap may be stale, it is cleared of them, so that an entry whose alarm changes all the time cannot make
// it grow without bound.
func (n *nearby) add(c *gate.Entry) {
	heap.Push(&n.alarms, nearAlarm{c.Due, c})
	if len(n.alarms) > max(n.most, minNear) {
		n.clean()
		n.most = 2 * len(n.alarms)
	}
}

// clean keeps one alarm for each entry whose Due it is.
func (n *nearby) clean() {
	kept := make(map[*gate.Entry]bool, len(n.alarms)/2)
	n.alarms = slices.DeleteFunc(n.alarms, func(a nearAlarm) bool {
		stale := a.stale() || kept[a.entry]
		kept[a.entry] = kept[a.entry] || !stale
		return stale
	})
	heap.Init(&n.alarms)
}

// start makes the timer, which calls wake.
func (n *nearby) start(wake func()) {
	n.timer = time.AfterFunc(time.Hour, func() {
		n.runs.Store(false)
		wake()
	})
	n.timer.Stop()
}

// aim sets the timer for the nearest alarm, or for also when that is nearer. A timer that is set for an earlier time is
// left alone: the turn that it brings aims again. Most turns move the nearest time, and setting a timer costs more than
// such a turn now and then.
func (n *nearby) aim(now, also gate.Time) {
	at := min(also, n.next())
	if at == gate.Never || n.runs.Load() && n.set <= at {
		return
	}
	n.set = at
	n.runs.Store(true) // before Reset: the timer may fire at once
	n.timer.Reset(max(at-now, minSleep))
}

// next is when the nearest alarm is due; Never when none is near.
func (n *nearby) next() gate.Time {
	if len(n.alarms) == 0 {
		return gate.Never
	}
	return n.alarms[0].at
}

// nearAlarm is when an entry wants to be woken.
type nearAlarm struct {
	at    gate.Time
	entry *gate.Entry
}

// stale reports whether the entry's Due has changed since.
func (a nearAlarm) stale() bool { return a.entry.Due != a.at || a.entry.Alarm.In() }

type nearHeap []nearAlarm

func (h nearHeap) Len() int           { return len(h) }
func (h nearHeap) Less(i, j int) bool { return h[i].at < h[j].at }
func (h nearHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *nearHeap) Push(x any)        { *h = append(*h, x.(nearAlarm)) }
func (h *nearHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	old[len(old)-1] = nearAlarm{}
	*h = old[:len(old)-1]
	return last
}
