package gate

import "github.com/wheellock/wheellock/scripts"

// Ask is a caller that wants permits.
func (m *Permits) Ask(now Time, w *Waiter, fx *Effects) {
	m.tick(now)
	m.sequencer.Ask(now, w, fx)
}

// Answer is the call coming back.
func (m *Permits) Answer(now Time, c *Command, fx *Effects) {
	m.now, m.sent = now, c.Sent
	m.tick(now)
	m.sequencer.Answer(now, c, fx)
}

// Change frees permits by their ids, or makes more. Ids of holds of ours end these first (rule 3), and free all
// that they have.
func (m *Permits) Change(now Time, c Change, fx *Effects) {
	m.tick(now)
	if c.Op == PermitFree && !m.disown(&c) {
		m.pump(now, fx)
		return
	}
	m.sequencer.Change(now, c, fx)
}

// disown ends the holds that c is about, and takes their ids out. False: nothing is left of c.
func (m *Permits) disown(c *Change) bool {
	ours := make(map[*permit]bool)
	ids, kept := c.Args.PermitFree().IDs, PermitFreeArgs{}
	for i, number := range c.Numbers {
		if p := m.holder(number); p != nil {
			ours[p] = true
		} else {
			kept.IDs += ids.At(i)
			kept.N++
		}
	}
	c.Args = kept.Args()
	for p := range ours {
		p.h.By.End(Unlocked)
		m.end(p, nil)
	}
	if kept.N == 0 {
		m.changes.queue[len(m.changes.queue)-1].Ack = c.Ack
	}
	return kept.N > 0
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

// Message says how many permits there are now, or how many came.
func (m *Permits) Message(now Time, news News, fx *Effects) { m.permitNews(now, news, fx) }

// Suspect has all holds verified.
func (m *Permits) Suspect(now Time, fx *Effects) {
	for _, p := range m.held {
		p.RenewAt = now
		m.renewAt = now
	}
	m.sequencer.Suspect(now, fx)
}

// LinkUp has all holds verified, too.
func (m *Permits) LinkUp(now Time, fx *Effects) {
	m.tick(now)
	for _, p := range m.held {
		p.RenewAt = now
		m.renewAt = now
	}
	m.sequencer.LinkUp(now, fx)
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

// lost is a question whose answer will never come. Its permits end by their lease.
func (m *Permits) lost(Time) {}
