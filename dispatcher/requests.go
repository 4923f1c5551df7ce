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

// acknowledged steps the gates with an event that ack waits for, and has ack settled when its time is over. Most are
// settled during the step, as those of locks that are handed on, and then are their caller's again: only those that are not
// get a place in the slots.
func (d *Dispatcher) acknowledged(now gate.Time, ack gate.Settler, step func()) {
	a, is := ack.(*Ack)
	if !is || a.Within == 0 {
		step()
		return
	}
	d.settled, a.at = false, &d.settled
	step()
	if d.settled {
		return
	}
	a.at, a.slots, a.place.Value = nil, d.acks, a
	d.acks.Put(&a.place, wheel.Ceil(now+a.Within, Tick))
}

// unlock is the end of a hold by its holder.
type unlock struct {
	hold *gate.Hold
	ack  gate.Settler // nil: nobody waits for the release
}

func (e *unlock) deliver(d *Dispatcher, now gate.Time) {
	d.acknowledged(now, e.ack, func() {
		c := e.hold.Entry
		c.Machine.(gate.Lockable).Unlock(now, e.hold, e.ack, &d.fx) // a kind that gives holds takes them back
		d.stepped(c)
	})
}

func (e *unlock) refuse() { settle(e.ack, gate.Closed) }

// extend prolongs a hold with a fixed lease.
type extend struct {
	hold  *gate.Hold
	lease time.Duration
	ack   gate.Settler
}

func (e *extend) deliver(d *Dispatcher, now gate.Time) {
	d.acknowledged(now, e.ack, func() {
		c := e.hold.Entry
		c.Machine.(gate.Lockable).Extend(now, e.hold, e.lease, e.ack, &d.fx)
		d.stepped(c)
	})
}

func (e *extend) refuse() { settle(e.ack, gate.Closed) }

// detach ends a hold and leaves its name taken.
type detach struct {
	hold  *gate.Hold
	lease time.Duration
	ack   gate.Settler
}

func (e *detach) deliver(d *Dispatcher, now gate.Time) {
	d.acknowledged(now, e.ack, func() {
		c := e.hold.Entry
		if m, can := c.Machine.(gate.Detachable); can {
			m.Detach(now, e.hold, e.lease, e.ack, &d.fx)
		} else {
			settle(e.ack, gate.OtherKind)
		}
		d.stepped(c)
	})
}

func (e *detach) refuse() { settle(e.ack, gate.Closed) }

// wanted has a holder told when somebody else waits.
type wanted struct{ hold *gate.Hold }

func (e wanted) deliver(d *Dispatcher, now gate.Time) {
	c := e.hold.Entry
	if m, can := c.Machine.(gate.Wantable); can {
		m.Wanted(now, e.hold, &d.fx)
	}
	d.stepped(c)
}

// force frees the owner that stands in Redis for a name.
type force struct {
	name  string
	kind  gate.Kind
	owner string
	id    uint64 // the number of owner when it is one of ours, else 0
	ack   gate.Settler
}

func (e *force) deliver(d *Dispatcher, now gate.Time) {
	d.acknowledged(now, e.ack, func() {
		c, why := d.entry(e.name, e.kind)
		if c == nil {
			settle(e.ack, why)
			return
		}
		if m, can := c.Machine.(gate.Forcible); can {
			m.Force(now, e.owner, e.id, e.ack, &d.fx)
		} else {
			settle(e.ack, gate.OtherKind)
		}
		d.stepped(c)
	})
}

func (e *force) refuse() { settle(e.ack, gate.Closed) }

// change changes a name without owners.
type change struct {
	name   string
	kind   gate.Kind
	change gate.Change
}

func (e *change) deliver(d *Dispatcher, now gate.Time) {
	ack := e.change.Ack
	d.acknowledged(now, ack, func() {
		if d.closing {
			settle(ack, gate.Closed)
			return
		}
		c, why := d.entry(e.name, e.kind)
		if c == nil {
			settle(ack, why)
			return
		}
		if m, can := c.Machine.(gate.Counting); can {
			m.Change(now, e.change, &d.fx)
		} else {
			settle(ack, gate.OtherKind)
		}
		d.stepped(c)
	})
}

func (e *change) refuse() { settle(e.change.Ack, gate.Closed) }

// suspect says that the key of a name may have changed behind our back.
type suspect struct{ name string }

func (e suspect) deliver(d *Dispatcher, now gate.Time) {
	if c := d.names.find(e.name); c != nil {
		c.Machine.Suspect(now, &d.fx)
		d.stepped(c)
	}
}

// settle answers who waits, if anybody does.
func settle(ack gate.Settler, why gate.Why) {
	if ack != nil {
		ack.Settle(gate.Outcome{Why: why})
	}
}
