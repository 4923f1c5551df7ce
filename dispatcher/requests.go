package dispatcher

import (
	"time"

	"github.com/wheellock/wheellock/internal/gate"
	"github.com/wheellock/wheellock/wheel"
)

// ask is a caller that wants a name.
type ask struct {
	waiter *gate.Waiter
	name   string
	kind   gate.Kind
}

func (e *ask) deliver(d *Dispatcher, now gate.Time) {
	w := e.waiter
	c, why := d.entry(e.name, e.kind)
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

func (e *ask) refuse() { e.waiter.By.Settle(gate.Outcome{Why: gate.Closed}) }

// abandon is a caller that waits no longer.
type abandon struct{ waiter *gate.Waiter }

func (e abandon) deliver(d *Dispatcher, now gate.Time) {
	if c := e.waiter.Entry; c != nil { // else it was turned away before any machine heard of it
		c.Machine.Abandon(now, e.waiter, &d.fx)
		d.stepped(c)
	}
}

// unlock is the end of a hold by its holder.
type unlock struct {
	hold *gate.Hold
	ack  gate.Settler // nil: nobody waits for the release
}

func (e *unlock) deliver(d *Dispatcher, now gate.Time) {
	ack := d.bounded(e.ack)
	c := e.hold.Entry
	c.Machine.Unlock(now, e.hold, e.ack, &d.fx)
	d.stepped(c)
	d.await(now, ack)
}

func (e *unlock) refuse() { settleClosed(e.ack) }

// extend prolongs a hold with a fixed lease.
type extend struct {
	hold  *gate.Hold
	lease time.Duration
	ack   gate.Settler
}

func (e *extend) deliver(d *Dispatcher, now gate.Time) {
	ack := d.bounded(e.ack)
	c := e.hold.Entry
	c.Machine.Extend(now, e.hold, e.lease, e.ack, &d.fx)
	d.stepped(c)
	d.await(now, ack)
}

func (e *extend) refuse() { settleClosed(e.ack) }

// force frees the owner that stands in Redis for a name.
type force struct {
	name  string
	kind  gate.Kind
	owner string
	id    uint64 // the number of owner when it is one of ours, else 0
	ack   gate.Settler
}

func (e *force) deliver(d *Dispatcher, now gate.Time) {
	ack := d.bounded(e.ack)
	if c, why := d.entry(e.name, e.kind); c != nil {
		c.Machine.Force(now, e.owner, e.id, e.ack, &d.fx)
		d.stepped(c)
	} else {
		e.ack.Settle(gate.Outcome{Why: why})
	}
	d.await(now, ack)
}

func (e *force) refuse() { settleClosed(e.ack) }

// change changes a name without owners.
type change struct {
	name   string
	kind   gate.Kind
	change gate.Change
}

func (e *change) deliver(d *Dispatcher, now gate.Time) {
	ack := d.bounded(e.change.Ack)
	e.step(d, now)
	d.await(now, ack)
}

func (e *change) step(d *Dispatcher, now gate.Time) {
	if d.closing {
		settleClosed(e.change.Ack)
		return
	}
	c, why := d.entry(e.name, e.kind)
	if c == nil {
		e.change.Ack.Settle(gate.Outcome{Why: why})
		return
	}
	c.Machine.(gate.Counting).Change(now, e.change, &d.fx)
	d.stepped(c)
}

func (e *change) refuse() { settleClosed(e.change.Ack) }

// suspect says that the key of a name may have changed behind our back.
type suspect struct{ name string }

func (e suspect) deliver(d *Dispatcher, now gate.Time) {
	if c := d.names.find(e.name); c != nil {
		c.Machine.Suspect(now, &d.fx)
		d.stepped(c)
	}
}

// settleClosed tells who waits, if anybody does, that the dispatcher has ended.
func settleClosed(ack gate.Settler) {
	if ack != nil {
		ack.Settle(gate.Outcome{Why: gate.Closed})
	}
}
