package gate

import (
	"slices"
	"time"

	"github.com/wheellock/wheellock/scripts"
)

// Ask is a caller that wants permits.
func (m *Permits) Ask(now Time, w *Waiter, fx *Effects) {
	m.tick(now)
	m.sequencer.Ask(now, w, fx)
}

// Answer is the call coming back.
func (m *Permits) Answer(now Time, c *Command, fx *Effects) {
	m.now, m.sent = now, c.Sent
	m.tick(now)
	m.inDanger(c)
	m.sequencer.Answer(now, c, fx)
}

// Change frees permits by their ids, or makes more. All ids are freed or none: holds of ours end when the other permits are
// freed.
func (m *Permits) Change(now Time, c Change, fx *Effects) {
	m.tick(now)
	if c.Op == PermitFree {
		f := m.freeing(&c)
		if c.Args.PermitFree().N == 0 {
			f.Settle(Outcome{})
			m.pump(now, fx)
			return
		}
		c.Ack = f
	}
	m.sequencer.Change(now, c, fx)
}

// freeing is a PermitFree by ids: the holds of ours that have some of them end once the others, which are sent first, are freed.
type freeing struct {
	m    *Permits
	ours []*permit
	ack  Settler
}

// freeing takes the ids of our holds out of c.
func (m *Permits) freeing(c *Change) *freeing {
	f := &freeing{m: m, ack: c.Ack}
	ids, kept := c.Args.PermitFree().IDs, PermitFreeArgs{}
	for i, number := range c.Numbers {
		switch p := m.holder(number); {
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
func (m *Permits) holder(number uint64) *permit {
	if number == 0 {
		return nil
	}
	for _, p := range m.held {
		if number >= p.ID && number < p.ID+uint64(p.n) {
			return p
		}
	}
	return nil
}

// Unlock ends a hold by its holder's wish.
func (m *Permits) Unlock(now Time, h *Hold, ack Settler, fx *Effects) {
	m.tick(now)
	p := m.held[h]
	if p == nil {
		settle(ack, Outcome{Why: Lost})
		m.pump(now, fx)
		return
	}
	o := &pendingUnlock{ack: ack, until: p.Deadline}
	if ack != nil {
		m.pendingUnlocks = append(m.pendingUnlocks, o)
		m.endAt = min(m.endAt, o.until)
	}
	m.end(p, o)
	m.pump(now, fx)
}

// Extend prolongs a hold with a fixed lease to now + lease; never shorter.
func (m *Permits) Extend(now Time, h *Hold, lease time.Duration, ack Settler, fx *Effects) {
	m.tick(now)
	p := m.held[h]
	switch {
	case p == nil:
		settle(ack, Outcome{Why: Lost})
	default: // the answer to one before may be on its way, or be asked for again
		p.extend, p.Next, m.renewAt = max(p.extend, lease), now, now
		p.add(ack)
	}
	m.pump(now, fx)
}

// Suspect has all holds verified.
func (m *Permits) Suspect(now Time, fx *Effects) {
	m.verify(now)
	m.sequencer.Suspect(now, fx)
}

// LinkUp has all holds verified, too.
func (m *Permits) LinkUp(now Time, fx *Effects) {
	m.tick(now)
	m.verify(now)
	m.sequencer.LinkUp(now, fx)
}

// verify has Redis asked whether all holds are there.
func (m *Permits) verify(now Time) {
	for _, p := range m.held {
		p.Next, m.renewAt = now, now
	}
}

// Close ends all holds and frees their permits.
func (m *Permits) Close(now Time, fx *Effects) {
	for _, p := range m.held {
		m.tell(p, Closed)
	}
	m.sequencer.Close(now, fx)
}

// Wake is the alarm.
func (m *Permits) Wake(now Time, fx *Effects) {
	m.tick(now)
	m.sequencer.Wake(now, fx)
}

// NextAlarm is the first instant at which time alone changes something.
func (m *Permits) NextAlarm() Time {
	at := min(m.sequencer.NextAlarm(), m.endAt)
	if m.call.Op == None {
		at = min(at, m.renewAt)
	}
	return at
}

// Idle reports whether the entry can be forgotten.
func (m *Permits) Idle() bool {
	return len(m.held) == 0 && m.sequencer.Idle()
}

// Oldest is when the oldest living hold was granted.
func (m *Permits) Oldest() Time {
	oldest := Never
	for h := range m.held {
		oldest = min(oldest, h.Since())
	}
	return oldest
}

func (m *Permits) channel() func(string) string { return scripts.SemaphoreChannel }

// lost is a question that will get no answer. Its permits end by their lease.
func (m *Permits) lost() {}
