package gate

import (
	"time"

	"github.com/wheellock/wheellock/scripts"
)

// ghost is an owner id that may appear in Redis although nobody wants it, or a foreign one that is to be
// freed: it is released at its time, once no other command is in flight.
type ghost struct {
	owner string // not one of ours; else empty
	id    uint64
	at    Time
	ack   Settler
}

// Unlock ends a hold.
func (m *Mutex) Unlock(now Time, h *Hold, ack Settler, fx *Effects) {
	m.tick(now, fx)
	if !h.alive {
		settle(ack, Outcome{Why: Lost})
		return
	}
	m.end(h)
	if m.holds != nil {
		settle(ack, Outcome{})
		m.pump(now, fx)
		return
	}
	m.ack = ack
	m.decide(now, fx)
	if m.phase != dead { // handed on, or about to be
		m.acknowledge(Outcome{})
	}
	m.pump(now, fx)
}

func settle(ack Settler, out Outcome) {
	if ack != nil {
		ack.Settle(out)
	}
}

func (m *Mutex) acknowledge(out Outcome) {
	settle(m.ack, out)
	m.ack = nil
}

// end takes a hold out of the tenure.
func (m *Mutex) end(h *Hold) {
	for at := &m.holds; *at != nil; at = &(*at).next {
		if *at == h {
			*at = h.next
			break
		}
	}
	h.alive, h.next = false, nil
	if n := h.count.Load(); n != nil {
		n.Add(-1)
	}
	m.cfg.Stats.Held.Dec()
	watched := m.holds == nil && m.t.Watch // the last one's tenure may be handed on as it is
	for other := m.holds; other != nil; other = other.next {
		watched = watched || other.watch
	}
	m.t.Watch = watched
}

// drop frees a tenure of which no hold is left. ack waits for the answer.
func (m *Mutex) drop(now Time, ack Settler, fx *Effects) {
	m.ack, m.phase, m.askAt = ack, dead, now
	m.abortGrowth()
	m.pump(now, fx)
}

// tick ends what time has ended. Every event that may grant something calls it first.
func (m *Mutex) tick(now Time, fx *Effects) {
	if m.phase == dead && m.ack != nil && now >= m.t.Deadline {
		m.acknowledge(Outcome{Why: Doubtful}) // Unlock never blocks past the deadline
	}
	if m.phase != ours {
		return
	}
	if now >= m.t.Deadline {
		m.lose(now, Lost, fx)
		return
	}
	ended := false
	for h := m.holds; h != nil; {
		next := h.next
		if now >= h.until {
			why := Lost
			if h.watch {
				why = TooLong
			}
			m.end(h)
			m.cfg.Stats.Lost.Inc()
			h.By.End(why)
			ended = true
		}
		h = next
	}
	if ended && m.holds == nil { // rule 1: ended by its own lease, so released, not left to its TTL
		m.drop(now, nil, fx)
	}
}

// lose ends all holds of the tenure and frees it. Their contexts end before the release is sent (rule 3).
func (m *Mutex) lose(now Time, why Why, fx *Effects) {
	m.endAll(why)
	m.drop(now, m.ack, fx)
}

// gone is a tenure that is not in Redis any more, as Redis says.
func (m *Mutex) gone(now Time, fx *Effects) {
	m.endAll(Lost)
	m.abortGrowth()
	m.acknowledge(Outcome{Why: Lost})
	m.phase, m.askAt = free, now
	m.haunt(now)
}

func (m *Mutex) endAll(why Why) {
	for m.holds != nil {
		h := m.holds
		m.end(h)
		m.cfg.Stats.Lost.Inc()
		h.By.End(why)
	}
}

// released is the answer to the release of the tenure.
func (m *Mutex) released(now Time, c *Command) {
	switch {
	case c.Result == Answered && (c.Reply >= 0 || c.Reply == scripts.Mute):
		m.acknowledge(Outcome{})
		m.phase = free
		m.haunt(now)
		m.askAt = now + m.pause(now, m.heardBy(c.Reply))
	case c.Result == Answered && c.Reply == scripts.NotMine:
		out := Outcome{Why: Lost}
		if m.t.Resent { // rule 4: the first send, before the deadline, did it
			out = Outcome{}
		}
		m.acknowledge(out)
		m.phase, m.askAt = free, now
		m.haunt(now)
		m.unpublished()
	default:
		m.unpublished()
		m.unreleased(now, c)
	}
}

// unreleased is a release that proved nothing: it is sent again until the lease has surely run out.
func (m *Mutex) unreleased(now Time, c *Command) {
	fault := c.Reply.Fault()
	m.askAt = now + retryPause
	switch {
	case c.Result == Unknown:
		m.t.Resent = m.t.Resent || c.Sent < m.t.Deadline
		m.cfg.Stats.Uncertain.Inc()
	case c.Result == NotSent:
		m.askAt = now + time.Second // LinkUp comes earlier
	case c.Result == Denied || c.Result == Answered && !fault.Passing():
		m.acknowledge(Outcome{Why: Refused, Fault: fault, Words: c.Words})
		m.askAt = now + time.Second
	}
}

// buried is a tenure that no command can reach and whose lease has surely run out in Redis.
func (m *Mutex) buried(now Time) {
	m.acknowledge(Outcome{Why: Doubtful})
	m.phase, m.askAt = free, now
}

// haunt remembers the tenure's id if an acquire of it may still arrive: it is released once more when
// none can (rule 12).
func (m *Mutex) haunt(now Time) {
	if m.t.Unsure > now {
		m.ghost(m.t.ID, m.t.Unsure)
	}
	m.t.Unsure = 0
}

func (m *Mutex) ghost(id uint64, at Time) {
	c := m.crowded()
	c.ghosts = append(c.ghosts, ghost{id: id, at: at})
}

// exorcise sends the release of a ghost that is due.
func (m *Mutex) exorcise(now Time, fx *Effects) bool {
	if m.crowd == nil {
		return false
	}
	for _, g := range m.crowd.ghosts {
		if now >= g.at {
			m.send(Command{Op: Release, ID: g.id, Owner: g.owner}, fx)
			m.again = m.queue.head != nil
			return true
		}
	}
	return false
}

// ghostAnswered settles a ghost, or puts it off when its release proved nothing.
func (m *Mutex) ghostAnswered(now Time, c *Command) {
	if m.crowd == nil {
		return
	}
	for i, g := range m.crowd.ghosts {
		if g.id != c.ID || g.owner != c.Owner {
			continue
		}
		out := ghostOutcome(c)
		if out.Why != Granted && out.Why != Lost && g.ack == nil {
			m.crowd.ghosts[i].at = now + 10*retryPause
			return
		}
		m.crowd.ghosts = append(m.crowd.ghosts[:i], m.crowd.ghosts[i+1:]...)
		settle(g.ack, out)
		return
	}
}

func ghostOutcome(c *Command) Outcome {
	switch {
	case c.Result == Answered && (c.Reply >= 0 || c.Reply == scripts.Mute):
		return Outcome{}
	case c.Result == Answered && c.Reply == scripts.NotMine:
		return Outcome{Why: Lost}
	case c.Result == NotSent:
		return Outcome{Why: Down}
	case c.Result == Unknown:
		return Outcome{Why: Doubtful}
	default:
		return Outcome{Why: Refused, Fault: c.Reply.Fault(), Words: c.Words}
	}
}

// Force frees an owner. When that is our own tenure, its holds end first.
func (m *Mutex) Force(now Time, owner string, id uint64, ack Settler, fx *Effects) {
	m.tick(now, fx)
	if id != 0 && m.phase == ours && m.t.ID == id {
		m.endAll(Lost)
		m.drop(now, ack, fx)
		return
	}
	c := m.crowded()
	c.ghosts = append(c.ghosts, ghost{owner: owner, id: id, at: now, ack: ack})
	m.pump(now, fx)
}

// Drain turns everybody away who waits; holds go on.
func (m *Mutex) Drain(now Time, fx *Effects) {
	m.turnAway(Outcome{Why: Closed}, everyone)
	if c := m.crowd; c != nil {
		for _, g := range c.growing {
			g.settle(m.cfg, Outcome{Why: Closed})
		}
		c.growing = nil
	}
	m.thin(now)
	m.pump(now, fx)
}

// Close turns everybody away, ends all holds and frees everything.
func (m *Mutex) Close(now Time, fx *Effects) {
	m.Drain(now, fx)
	if c := m.crowd; c != nil {
		c.ear, c.linger = deaf, Never // the connection closes with the engine
	}
	if m.phase == ours {
		m.endAll(Closed)
		m.drop(now, m.ack, fx)
	}
	m.pump(now, fx)
}
