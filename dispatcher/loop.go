package dispatcher

import (
	"time"

	"github.com/wheellock/wheellock/internal/gate"
	"github.com/wheellock/wheellock/internal/stall"
	"github.com/wheellock/wheellock/wheel"
)

// loop owns the gates. It returns only when every request it accepted has its answer.
func (d *Dispatcher) loop() {
	defer close(d.done)
	var mail []event
	for range d.mail.wake { // by an event, or by the timer
		stall.At("dispatcher: woken", d.cfg.UUID)
		now := d.now()
		stall.At("dispatcher: clock read, nothing due handled", d.cfg.UUID)
		if d.turnYield.before(now, d.near.next()) {
			now = d.cfg.Clock.Now()
		}
		d.ringDue(now) // deadlines that are due come before mail (rule 19)
		mail = d.mail.take(mail)
		d.turnYield.after(now, len(mail))
		for i := range mail {
			if i%clockStride == clockStride-1 {
				now = d.cfg.Clock.Now()
			}
			d.read(now, &mail[i])
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
	if now-d.checked >= checkEvery {
		now = d.cfg.Clock.Checked()
		d.checked = now
	}
	return now
}

// checkEvery is between two looks for suspension. A holder looks for itself.
const checkEvery = time.Millisecond

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

// read steps a gate with one event.
func (d *Dispatcher) read(now gate.Time, l *event) {
	ack := d.bounded(l.ack)
	d.step(now, l)
	d.await(now, ack)
}

func (d *Dispatcher) step(now gate.Time, l *event) {
	switch l.kind {
	case ask:
		d.ask(now, l)
	case abandon:
		if c := l.ref.(*gate.Waiter).Entry; c != nil { // else it was turned away before any machine heard of it
			c.Machine.Abandon(now, l.ref.(*gate.Waiter), &d.fx)
			d.stepped(c)
		}
	case unlock:
		h := l.ref.(*gate.Hold)
		h.Entry.Machine.Unlock(now, h, l.ack, &d.fx)
		d.stepped(h.Entry)
	case extend:
		h := l.ref.(*gate.Hold)
		h.Entry.Machine.Extend(now, h, time.Duration(l.n), l.ack, &d.fx)
		d.stepped(h.Entry)
	case force:
		f := l.ref.(forceRequest)
		if c, why := d.entry(l.text, gate.Kind(l.n)); c != nil {
			c.Machine.Force(now, f.owner, f.id, l.ack, &d.fx)
			d.stepped(c)
		} else {
			l.ack.Settle(gate.Outcome{Why: why})
		}
	case change:
		d.change(now, l)
	case returned:
		d.returned(l.ref.(*connection))
	case message:
		for channel, news := range l.ref.(*subscriber).hear() {
			d.message(now, channel, news)
		}
	case subscribed:
		d.subscribed(now, l)
	case channelRedirected:
		d.redirected(now, l)
	case switched:
		l.ref.(*node).switched(now)
	case subscriberBroke: // who only waits sends nothing by which the loop would find out that the node is gone
		d.cluster.survey.soon(now)
	case suspect:
		if c := d.names.find(l.text); c != nil {
			c.Machine.Suspect(now, &d.fx)
			d.stepped(c)
		}
	case suspectNode:
		d.suspectNode(now, l.text)
	case alarm:
		d.alarmRang(now, wheel.Tick(l.n))
	case oldestQuery:
		l.ref.(chan gate.Time) <- d.oldest()
	case drain:
		d.draining = append(d.draining, l.ref.(chan struct{}))
		d.each(func(m gate.Machine) { m.Drain(now, &d.fx) })
	case closing:
		d.close(now)
	}
}

// ask brings a request to the gate of its name.
func (d *Dispatcher) ask(now gate.Time, l *event) {
	w := l.ref.(*gate.Waiter)
	c, why := d.entry(l.text, gate.Kind(l.n))
	if c == nil {
		d.cfg.Gate.Answer(w, gate.Outcome{Why: why})
		return
	}
	if int(c.Machine.Waiting()) >= d.cfg.MaxPerName {
		d.cfg.Gate.Answer(w, gate.Outcome{Why: gate.Overloaded})
		d.stepped(c)
		return
	}
	if w.Try && d.nobodyKnows(c) {
		d.cfg.Gate.Answer(w, gate.Outcome{Why: gate.Down})
		d.stepped(c)
		return
	}
	w.Entry = c
	if w.Hold != nil {
		w.Hold.Entry = c
	}
	if w.Until != 0 {
		w.Timer.Value = w
		d.cfg.Gate.Waits.Put(&w.Timer, wheel.Ceil(w.Until, Tick))
	}
	c.Machine.Ask(now, w, &d.fx)
	d.stepped(c)
}

// change brings a change to the gate of its name.
func (d *Dispatcher) change(now gate.Time, l *event) {
	ch := l.ref.(*changeRequest)
	ch.change.Ack = l.ack
	if d.closing {
		l.ack.Settle(gate.Outcome{Why: gate.Closed})
		return
	}
	c, why := d.entry(l.text, ch.kind)
	if c == nil {
		l.ack.Settle(gate.Outcome{Why: why})
		return
	}
	c.Machine.(gate.Counting).Change(now, ch.change, &d.fx)
	d.stepped(c)
}

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
	also := gate.Never
	for _, n := range d.nodes {
		also = min(also, n.alarm())
	}
	if d.cluster != nil {
		also = min(also, d.cluster.survey.alarm(d))
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

func (d *Dispatcher) suspectNode(now gate.Time, addr string) {
	for c := range d.names.all() {
		if d.home(c.Slot).addr == addr {
			c.Machine.Suspect(now, &d.fx)
			d.stepped(c)
		}
	}
}

func (d *Dispatcher) oldest() gate.Time {
	oldest := gate.Never
	for c := range d.names.all() {
		oldest = min(oldest, c.Machine.Oldest())
	}
	return oldest
}
