package gate

import (
	"slices"
	"time"

	"github.com/wheellock/wheellock/scripts"
)

// Ask is a caller that wants permits.
func (ps *Permits) Ask(now Time, w *Waiter, fx *Effects) {
	ps.endDue(now)
	ps.sequencer.Ask(now, w, fx)
}

// Answer is the call coming back.
func (ps *Permits) Answer(now Time, c *Command, fx *Effects) {
	ps.now, ps.sent = now, c.Sent
	ps.endDue(now)
	ps.warnOverdue(c)
	ps.sequencer.Answer(now, c, fx)
}

// Change frees permits by their ids, or makes more. All ids are freed or none: holds of ours end when the other permits are
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

// freeing is a PermitFree by ids: the holds of ours that have some of them end once the others, which are sent first, are freed.
type freeing struct {
	m    *Permits
	ours []*permit
	ack  Settler
}

// freeing takes the ids of our holds out of c.
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

// Settle is the answer for the permits of others. The holds of ours end first and are freed then (rule 3), with all that they
// have. It implements Settler.
func (f *freeing) Settle(out Outcome) bool {
	m, ended := f.m, false
	for _, p := range f.ours {
		if out.Why == Granted && m.held[p.h] == p { // it may have ended meanwhile
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

// holder is the hold that has the permit with this number; nil: none of ours.
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

// Unlock ends a hold by its holder's wish.
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

// Extend prolongs a hold with a fixed lease to now + lease; never shorter.
func (ps *Permits) Extend(now Time, h *Hold, lease time.Duration, ack Settler, fx *Effects) {
	ps.endDue(now)
	p := ps.held[h]
	switch {
	case p == nil:
		settle(ack, Outcome{Why: Lost})
	default: // the answer to one before may be on its way, or be asked for again
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

// suspectAll has Redis asked whether all holds are there.
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

// Wake is the alarm.
func (ps *Permits) Wake(now Time, fx *Effects) {
	ps.endDue(now)
	ps.sequencer.Wake(now, fx)
}

// NextAlarm is the first instant at which time alone changes something.
func (ps *Permits) NextAlarm() Time {
	at := min(ps.sequencer.NextAlarm(), ps.endAt)
	if ps.call.Op == None {
		at = min(at, ps.renewAt)
	}
	return at
}

// Idle reports whether the entry can be forgotten.
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

// dismissAsked is a question that will get no answer. Its permits end by their lease.
func (ps *Permits) dismissAsked() {}
