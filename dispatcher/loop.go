package dispatcher

import (
	"time"

	"github.com/wheellock/wheellock/internal/gate"
	"github.com/wheellock/wheellock/internal/stall"
)

// loop owns the gates. It returns only when every request it accepted has its answer.
func (d *Dispatcher) loop() {
	defer close(d.done)
	var mail batch
	for range d.mail.wake { // by an event, the waker, or the loop's own timer
		stall.At("dispatcher: woken", d.cfg.UUID)
		now := d.now()
		stall.At("dispatcher: clock read, nothing due handled", d.cfg.UUID)
		if d.turnYield.before(now, d.near.next()) {
			now = d.cfg.Clock.Now()
		}
		d.ringDue(now) // deadlines that are due come before mail (rule 19)
		mail = d.mail.take(mail)
		d.turnYield.after(now, len(mail.events))
		for i, e := range mail.events {
			if i%clockStride == clockStride-1 {
				now = d.cfg.Clock.Now()
			}
			e.deliver(d, now)
		}
		now = d.cfg.Clock.Now()
		stall.At("dispatcher: clock read, nothing sent", d.cfg.UUID)
		d.ringDue(now)
		d.giveUpDue(now)
		d.flush(now)
		d.settleAlarms(now)
		d.launch()
		if d.closing && d.finished() {
			d.end()
			return
		}
	}
}

// now reads the clock at the beginning of a turn, every now and then after a look for suspension, which takes longer.
func (d *Dispatcher) now() gate.Time {
	now := d.cfg.Clock.Now()
	if now-d.checked < checkEvery {
		return now
	}
	if now-d.measured >= lookEvery {
		d.cfg.Clock.Check()
		d.measured = now
	}
	d.checked = d.cfg.Clock.Checked()
	return d.checked
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

// stepped notes that an entry has changed; its alarm is set at the end of the turn. A spare one has not, whatever
// event came for it: a caller that went away while he was answered has his event read when the name is idle and
// forgotten. Were that one forgotten again, two names would get the same entry, or one that lives would lose its own.
func (d *Dispatcher) stepped(c *gate.Entry) {
	if !c.Stepped && !c.Free {
		c.Stepped = true
		d.changed = append(d.changed, c)
	}
}

// settleAlarms sets the alarms of what has changed in this turn, and forgets the entries that are idle.
func (d *Dispatcher) settleAlarms(now gate.Time) {
	for _, c := range d.changed {
		c.Stepped = false
		if c.Machine.Idle() {
			c.Due = gate.Never
			d.slots.Remove(&c.Alarm)
			d.names.remove(c)
			c.Free = true
			d.free.keep(c)
			continue
		}
		d.schedule(c, now)
	}
	d.changed = again(d.changed)
	also := d.nextLook(now)
	for _, n := range d.nodes {
		also = min(also, n.alarm())
	}
	if d.cluster != nil {
		also = min(also, d.surveyAlarm())
	}
	if d.closing {
		also = min(also, d.closeBy)
	}
	d.near.aim(now, also)
	if len(d.draining) > 0 && d.cfg.Gate.Stats.Held.Load() == 0 {
		d.drained()
	}
}

// linkUp tells the machines of some entries that the link to their node is there again.
func (d *Dispatcher) linkUp(now gate.Time, whose func(*gate.Entry) bool) {
	for c := range d.names.all() {
		if whose(c) {
			c.Machine.LinkUp(now, &d.fx)
			d.stepped(c)
		}
	}
}

// each steps every machine.
func (d *Dispatcher) each(step func(gate.Machine)) {
	for c := range d.names.all() {
		step(c.Machine)
		d.stepped(c)
	}
}
