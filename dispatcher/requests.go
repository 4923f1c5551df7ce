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

func (e *ask) deliver(l *loop, now gate.Time) {
	w := e.waiter
	c, why := l.gates.entry(e.name, e.kind)
	if c == nil {
		l.cfg.Gate.Answer(w, gate.Outcome{Why: why})
		return
	}
	if int(c.Machine.Waiting()) >= l.cfg.MaxPerName {
		l.cfg.Gate.Answer(w, gate.Outcome{Why: gate.Overloaded})
		l.gates.stepped(c)
		return
	}
	if w.Try && l.nodes.nobodyKnows(c) {
		l.cfg.Gate.Answer(w, gate.Outcome{Why: gate.Down})
		l.gates.stepped(c)
		return
	}
	w.Entry = c
	if w.Hold != nil {
		w.Hold.Entry = c
	}
	if w.Until != 0 {
		w.Timer.Value = w
		l.cfg.Gate.Waits.Put(&w.Timer, wheel.Ceil(w.Until, Tick))
	}
	c.Machine.Ask(now, w, &l.gates.fx)
	l.gates.stepped(c)
}

func (e *ask) refuse() { e.waiter.By.Settle(gate.Outcome{Why: gate.Closed}) }

// abandon is a caller that waits no longer.
type abandon struct{ waiter *gate.Waiter }

func (e abandon) deliver(l *loop, now gate.Time) {
	if c := e.waiter.Entry; c != nil { // else it was turned away before any machine heard of it
		c.Machine.Abandon(now, e.waiter, &l.gates.fx)
		l.gates.stepped(c)
	}
}

// unlock is the end of a hold by its holder.
type unlock struct {
	hold *gate.Hold
	ack  gate.Settler // nil: nobody waits for the release
}

func (e *unlock) deliver(l *loop, now gate.Time) {
	l.acks.await(now, e.ack, func() {
		c := e.hold.Entry
		c.Machine.(gate.Lockable).Unlock(now, e.hold, e.ack, &l.gates.fx) // a kind that gives holds takes them back
		l.gates.stepped(c)
	})
}

func (e *unlock) refuse() { settle(e.ack, gate.Closed) }

// extend prolongs a hold with a fixed lease.
type extend struct {
	hold  *gate.Hold
	lease time.Duration
	ack   gate.Settler
}

func (e *extend) deliver(l *loop, now gate.Time) {
	l.acks.await(now, e.ack, func() {
		c := e.hold.Entry
		c.Machine.(gate.Lockable).Extend(now, e.hold, e.lease, e.ack, &l.gates.fx)
		l.gates.stepped(c)
	})
}

func (e *extend) refuse() { settle(e.ack, gate.Closed) }

// detach ends a hold and leaves its name taken.
type detach struct {
	hold  *gate.Hold
	lease time.Duration
	ack   gate.Settler
}

func (e *detach) deliver(l *loop, now gate.Time) {
	l.acks.await(now, e.ack, func() {
		c := e.hold.Entry
		if m, can := c.Machine.(gate.Detachable); can {
			m.Detach(now, e.hold, e.lease, e.ack, &l.gates.fx)
		} else {
			settle(e.ack, gate.OtherKind)
		}
		l.gates.stepped(c)
	})
}

func (e *detach) refuse() { settle(e.ack, gate.Closed) }

// wanted has a holder told when somebody else waits.
type wanted struct{ hold *gate.Hold }

func (e wanted) deliver(l *loop, now gate.Time) {
	c := e.hold.Entry
	if m, can := c.Machine.(gate.Wantable); can {
		m.Wanted(now, e.hold, &l.gates.fx)
	}
	l.gates.stepped(c)
}

// force frees the owner that stands in Redis for a name.
type force struct {
	name  string
	kind  gate.Kind
	owner string
	id    uint64 // the number of owner when it is one of ours, else 0
	ack   gate.Settler
}

func (e *force) deliver(l *loop, now gate.Time) {
	l.acks.await(now, e.ack, func() {
		c, why := l.gates.entry(e.name, e.kind)
		if c == nil {
			settle(e.ack, why)
			return
		}
		if m, can := c.Machine.(gate.Forcible); can {
			m.Force(now, e.owner, e.id, e.ack, &l.gates.fx)
		} else {
			settle(e.ack, gate.OtherKind)
		}
		l.gates.stepped(c)
	})
}

func (e *force) refuse() { settle(e.ack, gate.Closed) }

// change changes a name without owners.
type change struct {
	name   string
	kind   gate.Kind
	change gate.Change
}

func (e *change) deliver(l *loop, now gate.Time) {
	ack := e.change.Ack
	l.acks.await(now, ack, func() {
		if l.closing {
			settle(ack, gate.Closed)
			return
		}
		c, why := l.gates.entry(e.name, e.kind)
		if c == nil {
			settle(ack, why)
			return
		}
		if m, can := c.Machine.(gate.Counting); can {
			m.Change(now, e.change, &l.gates.fx)
		} else {
			settle(ack, gate.OtherKind)
		}
		l.gates.stepped(c)
	})
}

func (e *change) refuse() { settle(e.change.Ack, gate.Closed) }

// suspect says that the key of a name may have changed behind our back.
type suspect struct{ name string }

func (e suspect) deliver(l *loop, now gate.Time) {
	if c := l.gates.names.find(e.name); c != nil {
		c.Machine.Suspect(now, &l.gates.fx)
		l.gates.stepped(c)
	}
}

// settle answers who waits, if anybody does.
func settle(ack gate.Settler, why gate.Why) {
	if ack != nil {
		ack.Settle(gate.Outcome{Why: why})
	}
}
