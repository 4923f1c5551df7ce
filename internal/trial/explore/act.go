package explore

import (
	"fmt"
	"strings"

	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/scripts"
)

// What callers do, as engine does it.

// ask brings the request to the gate.
func (c *caller) ask() {
	e, want := c.e, c.kept
	c.s.callers = append(c.s.callers, c)
	c.hold.By = c
	c.waiter = &gate.Waiter{By: c, Hold: &c.hold, Owner: want.owner, LeaseTime: want.lease, N: want.n, Limit: want.limit, Watch: want.watch, Try: want.try, Write: want.write, Least: want.least, Fast: want.fast}
	if c.call == Adopt {
		adopts := c.s.ownerOf(c.name)
		c.waiter.Adopts = &adopts
		if number, ours := e.numberOf(adopts); ours && c.s.heldUnder(e, number) {
			c.adopts = adopts
		}
		if !strings.HasSuffix(adopts, gate.DetachedSuffix) { // somebody may believe in it
			c.s.forced(nil, adopts)
		}
		for _, other := range c.s.callers { // who takes its place decides for how long it stays taken
			if other.name == c.name {
				other.stays = 0
			}
		}
	}
	if want.try {
		c.waiter.Until = e.now() + answerTime
	}
	e.post(c, c.call.String(), func(now gate.Time) {
		if e.closing {
			c.Settle(gate.Outcome{Why: gate.Closed})
			return
		}
		cell := e.cell(c.name)
		if e.link == linkDown && cell.FailsWhileDown(now, c.waiter) {
			e.cfg.Answer(c.waiter, gate.Outcome{Why: gate.Down})
			return
		}
		c.waiter.Entry, c.hold.Entry = cell, cell
		cell.Machine.Ask(now, c.waiter, &e.fx)
	})
}

// drop is the caller going away before it is answered.
func (c *caller) drop() {
	c.dropped = true
	c.e.post(c, "has gone", func(now gate.Time) {
		if cell := c.waiter.Entry; cell != nil {
			cell.Machine.EndWait(now, c.waiter, gate.GaveUp, &c.e.fx)
		}
	})
}

// unlock gives the hold back. A holder that finds it over tells the loop so, and has lost it for good.
func (c *caller) unlock() {
	c.leave("Unlock", "unlocks", func(now gate.Time) {
		c.hold.Entry.Machine.Unlock(now, &c.hold, c.release, &c.e.fx)
	})
}

// detach ends the hold and leaves the name taken.
func (c *caller) detach() {
	c.leave("Detach", "detaches", func(now gate.Time) {
		c.hold.Entry.Machine.(*gate.Lock).Detach(now, &c.hold, fixedLease, c.release, &c.e.fx)
	})
}

func (c *caller) leave(what, does string, event func(now gate.Time)) {
	e := c.e
	if e.now() >= c.hold.Deadline() {
		c.over = true
		e.post(c, "has found its hold over", func(now gate.Time) {
			c.hold.Entry.Machine.Unlock(now, &c.hold, nil, &e.fx)
		})
		return
	}
	c.unlocked = true
	c.release = &ack{s: c.s, what: what, by: c}
	e.post(c, does, event)
}

// force frees whoever stands in Redis for the name.
func (c *caller) force() {
	e, owner := c.e, c.s.ownerOf(c.name)
	id := uint64(0)
	for n := uint64(firstID); n <= e.cfg.LastID; n++ {
		if f := e.ownerField(n); owner == f || owner == f+gate.WriterSuffix {
			id = n
		}
	}
	c.s.callers = append(c.s.callers, c)
	c.release = &ack{s: c.s, what: "ForceUnlock", by: c}
	e.post(c, "forces the owner off", func(now gate.Time) {
		c.s.forced(e, owner)
		e.cell(c.name).Machine.(*gate.Lock).Force(now, owner, id, c.release, &e.fx)
	})
}

// change gives a permit back, or counts a latch down.
func (c *caller) change() {
	e, op := c.e, gate.Give
	if c.call == CountDown {
		op = gate.CountDown
	}
	c.s.callers = append(c.s.callers, c)
	c.s.counted.asked++
	c.release = &ack{s: c.s, what: c.call.String(), by: c}
	change := gate.ChangeCount(op, 1)
	change.Ack = c.release
	e.post(c, c.call.String(), func(now gate.Time) {
		if e.closing {
			c.release.Settle(gate.Outcome{Why: gate.Closed})
			return
		}
		e.cell(c.name).Machine.(*gate.Sequencer).Change(now, change, &e.fx)
	})
}

// releaseOf frees the permits of holds by their ids. Holders at other engines may believe in them until the next renewal.
func (c *caller) releaseOf(held []*caller) {
	e := c.e
	var args gate.PermitFreeArgs
	var numbers []uint64
	give := func(by *engine, number uint64) {
		args.IDs += scripts.PermitIDs(scripts.PermitID(by.uuid, number))
		if by != e {
			number = 0
		}
		numbers = append(numbers, number)
	}
	give(held[0].e, held[0].hold.Tenure)
	for _, h := range held {
		h.lossy = true
		for i := range uint64(h.kept.n) {
			give(h.e, h.hold.Tenure+i)
		}
	}
	c.frees = held
	c.s.callers = append(c.s.callers, c)
	c.release = &ack{s: c.s, what: "Release", by: c}
	e.post(c, fmt.Sprintf("releases the permits of %v", held), func(now gate.Time) {
		if e.closing {
			c.release.Settle(gate.Outcome{Why: gate.Closed})
			return
		}
		e.cell(c.name).Machine.(*gate.Sequencer).Change(now, gate.Change{Op: gate.PermitFree, Args: args.Args(), Numbers: numbers, Ack: c.release}, &e.fx)
	})
}

// close begins to close the engine.
func (e *engine) close() {
	e.closing, e.closeBy = true, gate.Never
	e.post(nil, "it closes", func(now gate.Time) {
		e.closeBy = e.now() + gate.LateWindow + closeGrace
		e.each(func(m gate.Machine) { m.Close(now, &e.fx) })
	})
}

// closeGrace is what a closing dispatcher gives itself besides LateWindow.
const closeGrace = 1_000_000_000

// end is the end of a closing engine: whoever still waits is settled.
func (e *engine) end() {
	e.s.note("    %v: it has closed", e)
	e.each(func(m gate.Machine) { m.Wake(gate.Centuries, &e.fx) })
	e.cutOff = e.link != linkUp || e.now() >= e.closeBy
	if e.cutOff && e.s.w.Kind != gate.PermitKind { // Close waits no longer: what was not answered is known to nobody
		e.s.counted.unknown = true
	}
	e.die()
}

// die ends an engine. What it has sent may still run.
func (e *engine) die() {
	e.dead = true
	e.scatter()
	clear(e.s.subscribers[e.number])
	e.messages, e.mail, e.wishes, e.outbox, e.paused = nil, nil, nil, nil, false
}
