package gate

import (
	"strconv"

	"github.com/wheellock/wheellock/scripts"
)

// makeWay ends the tenure, as force does, for a caller that wants to take its place, once no command of it is in flight. The
// Adopt leaves first. The release that follows finds the owner id only if the Adopt has not taken it. Callers that want the place
// of another owner are told that it is gone.
func (m *Mutex) makeWay(now Time) {
	m.contention.turnAdoptersAway(m.cfg, Lost, m.cfg.UUID+":"+strconv.FormatUint(m.t.ID, 10))
	if len(m.contention.adopting) == 0 || m.flight != None {
		return
	}
	release := m.releaseOp()
	m.t.endAll(m.cfg.Stats, Lost)
	m.drop(now, nil)
	m.left(now)
	old := m.t.orphan(release) // one for the owner id: of two, each answer that nothing was sent would put the other off
	old.at, old.late = now, m.t.Unsure
	m.t.Unsure = 0
	m.contention.orphans.add(old)
}

// adopt asks for the first caller that wants to take the place of another owner.
func (m *Mutex) adopt(fx *Effects) bool {
	if m.contention == nil || len(m.contention.adopting) == 0 {
		return false
	}
	w := m.contention.adopting[0]
	m.cfg.LastID++
	m.t.ask(m.cfg.LastID, w.Lease, w.Watch)
	m.cfg.Stats.Attempts.Inc()
	m.send(Adopt, m.t.ID, w.takes(w.Lease), fx).Args = AdoptArgs{Owner: w.Adopts}.Args()
	return true
}

// adopted is the answer to an Adopt. Whatever it is, the caller hears of it: it asks once.
func (m *Mutex) adopted(now Time, c *Command) {
	w := m.contention.adopting.takeFor(c, &m.t.Tenure) // nil: it waits no longer
	answer := func(out Outcome) {
		if w != nil {
			m.cfg.Answer(w, out)
		}
	}
	switch {
	case c.ran() && c.Reply.Granted():
		m.t.phase, m.t.Deadline = ours, 0
		m.t.confirm(now, c, c.Lease, m.cfg.Stats)
		m.fence(int64(c.Reply))
		m.settleYield(false, now) // somebody had it
		out := m.t.unusable(now, c, c.Lease)
		ack, forced := m.contention.forced(m.t.ID)
		if forced {
			out = Outcome{Why: Lost}
		}
		if out.Why != Granted {
			m.drop(now, ack)
			answer(out)
			return
		}
		m.tries = 0
		m.contention.enter(now, m.cfg)
		if w != nil {
			m.letIn(now, w)
		}
	case c.Result == Unknown:
		m.left(now)
		m.contention.orphanAdopter(now, c, m.releaseOp())
		answer(unprovedOutcome(c))
	case c.Result == Answered && c.Reply == scripts.NotMine:
		m.left(now)
		answer(Outcome{Why: Lost})
	default:
		m.left(now)
		out, _ := declined(c, &m.tries)
		if out.Why == Granted && w != nil { // it came too late, and is asked for again at once
			m.contention.adopting = append(m.contention.adopting, w)
			return
		}
		answer(out)
	}
}

// orphanAdopter has the fresh owner of an Adopt released that got no answer: now, and once more when it cannot arrive any
// more (rule 12).
func (c *contention) orphanAdopter(now Time, adopt *Command, release Op) {
	late := lateAfter(adopt.Sent)
	c.orphans.add(orphan{id: adopt.ID, op: release, at: now, late: late, ends: late + adopt.Lease + 2*margin(adopt.Lease)})
}
