package gate

import (
	"slices"
	"time"

	"github.com/wheellock/wheellock/scripts"
)

// The events of Permits.

// Ask is a caller that wants permits.
func (ps *Permits) Ask(now Time, w *Waiter, fx *Effects) {
	ps.endDue(now)
	ps.sequencer.Ask(now, w, fx)
}

// Answer handles the answer to the call on its way.
func (ps *Permits) Answer(now Time, c *Command, fx *Effects) {
	ps.now, ps.sent = now, c.Sent
	ps.endDue(now)
	ps.warnOverdue(c)
	ps.sequencer.Answer(now, c, fx)
}

// Change changes the count, or frees permits by their ids. It frees all ids or none: holds of this engine end when the other permits were
// freed.
func (ps *Permits) Change(now Time, c Change, fx *Effects) {
	ps.endDue(now)
	if c.Op == PermitFree {
		f := ps.freeing(&c)
		if c.Args.PermitFree().N == 0 {
			f.Settle(Outcome{})
			ps.advance(now, fx)
			return
		}
		c.Ack = f
	}
	ps.sequencer.Change(now, c, fx)
}

// freeing is a PermitFree by ids. The permits of other engines are freed first; then the holds of this engine that have some of the ids
// end.
type freeing struct {
	m    *Permits
	ours []*permit
	ack  Settler
}

// freeing takes the ids of this engine's holds out of c.
func (ps *Permits) freeing(c *Change) *freeing {
	f := &freeing{m: ps, ack: c.Ack}
	ids, kept := c.Args.PermitFree().IDs, PermitFreeArgs{}
	for i, number := range c.Numbers {
		switch p := ps.holder(number); {
		case p == nil:
			kept.IDs += ids.At(i)
			kept.N++
		case !slices.Contains(f.ours, p):
			f.ours = append(f.ours, p)
		}
	}
	c.Args = kept.Args()
	return f
}

// Settle handles the answer for the permits of other engines. It ends the holds of this engine, and then frees all their permits (rule 3).
// It implements Settler.
func (f *freeing) Settle(out Outcome) bool {
	m, ended := f.m, false
	for _, p := range f.ours {
		if out.Why == Granted && m.held[p.h] == p { // else it has ended meanwhile
			p.h.By.End(Unlocked)
			m.end(p, nil)
			ended = true
		}
	}
	if ended {
		m.changes.queue[len(m.changes.queue)-1].Ack = f.ack
	} else {
		settle(f.ack, out)
	}
	return true
}

// holder is the hold that has the permit with this number; nil: none of this engine.
func (ps *Permits) holder(number uint64) *permit {
	if number == 0 {
		return nil
	}
	for _, p := range ps.held {
		if number >= p.ID && number < p.ID+uint64(p.n) {
			return p
		}
	}
	return nil
}

// Unlock ends a hold that its holder gives back.
func (ps *Permits) Unlock(now Time, h *Hold, ack Settler, fx *Effects) {
	ps.endDue(now)
	p := ps.held[h]
	if p == nil {
		settle(ack, Outcome{Why: Lost})
		ps.advance(now, fx)
		return
	}
	u := &pendingUnlock{ack: ack, until: p.Deadline}
	if ack != nil {
		ps.pendingUnlocks = append(ps.pendingUnlocks, u)
		ps.endAt = min(ps.endAt, u.until)
	}
	ps.end(p, u)
	ps.advance(now, fx)
}

// Extend moves the end of a hold with a fixed lease to now + lease, unless it is later already.
func (ps *Permits) Extend(now Time, h *Hold, lease time.Duration, ack Settler, fx *Effects) {
	ps.endDue(now)
	p := ps.held[h]
	switch {
	case p == nil:
		settle(ack, Outcome{Why: Lost})
	default: // even if the renewal for an earlier Extend is on its way, or will be repeated
		p.extend, p.Next, ps.renewAt = max(p.extend, lease), now, now
		p.add(ack)
	}
	ps.advance(now, fx)
}

// Suspect has all holds verified.
func (ps *Permits) Suspect(now Time, fx *Effects) {
	ps.suspectAll(now)
	ps.sequencer.Suspect(now, fx)
}

// LinkUp has all holds verified, too.
func (ps *Permits) LinkUp(now Time, fx *Effects) {
	ps.endDue(now)
	ps.suspectAll(now)
	ps.sequencer.LinkUp(now, fx)
}

// suspectAll makes Redis be asked whether all holds are there.
func (ps *Permits) suspectAll(now Time) {
	for _, p := range ps.held {
		p.Next, ps.renewAt = now, now
	}
}

// Close ends all holds and frees their permits.
func (ps *Permits) Close(now Time, fx *Effects) {
	for _, p := range ps.held {
		ps.lose(p, Closed)
	}
	ps.sequencer.Close(now, fx)
}

// Wake handles the alarm.
func (ps *Permits) Wake(now Time, fx *Effects) {
	ps.endDue(now)
	ps.sequencer.Wake(now, fx)
}

// NextAlarm is when the machine must be woken if no event comes before.
func (ps *Permits) NextAlarm() Time {
	at := min(ps.sequencer.NextAlarm(), ps.endAt)
	if ps.call.Op == None {
		at = min(at, ps.renewAt)
	}
	return at
}

// Idle reports whether the machine has nothing to do and nothing to remember.
func (ps *Permits) Idle() bool {
	return len(ps.held) == 0 && ps.sequencer.Idle()
}

// Oldest is when the oldest living hold was granted.
func (ps *Permits) Oldest() Time {
	oldest := Never
	for h := range ps.held {
		oldest = min(oldest, h.Since())
	}
	return oldest
}

func (ps *Permits) channel() func(string) string { return scripts.SemaphoreChannel }

// dismissAsked does nothing: permits that a lost call took end by their lease.
func (ps *Permits) dismissAsked() {}
