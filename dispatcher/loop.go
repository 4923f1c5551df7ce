package dispatcher

import (
	"github.com/wheellock/wheellock/internal/gate"
	"github.com/wheellock/wheellock/internal/stall"
)

// loop owns the gates. It returns only when every request it accepted has its answer.
func (d *Dispatcher) loop() {
	defer close(d.done)
	mail := new(batch)
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
