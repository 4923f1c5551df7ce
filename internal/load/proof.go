package load

import "github.com/wheellock/wheellock/engine"

// proof is how sections of a kind show, or refute, that the kind does what it promises. It compares what
// callers find with what the cells say, which is what must be so.
type proof interface {
	// enter is called with a grant in hands.
	enter(c *caller, now Instant) entry
	// leave is called before it is given back.
	leave(c *caller, now Instant)
	// inUse reports whether a waiter for a place has to wait.
	inUse(p place) bool
}

func proofOf(k Kind) proof {
	switch {
	case k == Latch:
		return passing{}
	case k.Shares():
		return counting{}
	default:
		return alone{}
	}
}

// alone is the proof of locks that exclude all others.
type alone struct{}

func (alone) enter(c *caller, now Instant) entry {
	r := c.rig
	cells := r.places[c.name]
	e := cells[0].enter(c.mark, now, c.asked)
	for _, also := range cells[1:] {
		o := also.enter(c.mark, now, c.asked)
		e.add(&o)
	}
	switch r.plan.Kind {
	case Fenced:
		token, fenced := c.hold.(*engine.Hold).Token()
		grows := fenced && cells[0].grows(token)
		e.tokenBack = !grows && !ended(c.hold) // a hold without a lease may come after its successor
	case Fair:
		e.overtaken = cells[0].overtaken(c.asked)
		e.disordered = e.overtaken > r.limits.overtaking
	}
	return e
}

func (alone) leave(c *caller, now Instant) {
	for _, cell := range c.rig.places[c.name] {
		cell.leave(c.mark, now, c.id, c.lost)
	}
}

func (alone) inUse(p place) bool {
	for _, cell := range p {
		if cell.mark.Load() != 0 {
			return true
		}
	}
	return false
}

// counting is the proof of what several may have: each weighs something, and there is room for so much.
type counting struct{}

func (counting) enter(c *caller, now Instant) entry {
	e := c.cell().join(c.weight(), c.rig.plan.room(), now, c.asked)
	if c.reads { // it may come in with others still inside: nothing is handed over
		e.handover = 0
	}
	return e
}

func (counting) leave(c *caller, now Instant) { c.cell().part(c.weight(), now, c.id) }

func (counting) inUse(p place) bool { return p[0].inside.Load() != 0 }

// writer weighs more than a million readers.
const writer = 1 << 20

// weight is what the caller's section weighs.
func (c *caller) weight() int64 {
	if c.rig.plan.Kind == RW && !c.reads {
		return writer
	}
	return 1
}

// room is for what weight there is room in one name.
func (p *Plan) room() int64 {
	switch {
	case p.Kind == RW:
		return writer
	case p.Kind.HasPermits():
		return int64(p.Permits)
	default:
		return 1
	}
}

// passing is the proof of latches: a waiter passes only while the latch is open, and one caller at a time shuts it.
type passing struct{}

func (passing) enter(c *caller, now Instant) entry {
	got := c.hold.(pass)
	if got.shut {
		return got.cell.enter(c.mark, now, c.asked)
	}
	e := entry{early: got.early()}
	got.cell.passed(&e, now, c.asked)
	return e
}

func (passing) leave(c *caller, now Instant) {
	if got := c.hold.(pass); got.shut {
		got.cell.leave(c.mark, now, c.id, false)
	}
}

func (passing) inUse(p place) bool { return p[0].mark.Load() != 0 }
