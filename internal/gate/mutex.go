package gate

import (
	"time"
)

// Mutex is the machine of a reentrant lock.
//
// free -> asked when somebody wants in; asked -> ours when granted, -> free when refused (contention.go says
// when to ask again); ours -> ours by handing on (handoff.go); ours -> dead when the last hold ended;
// dead -> free when the release was answered (ending.go).
type Mutex struct {
	lock
	t ownership
}

func newMutex() Machine { return &Mutex{} }

func (m *Mutex) reset(cfg *Config) {
	*m = Mutex{lock: lock{waiting{Entry: m.Entry, waitState: &noWaiters, cfg: cfg}}}
	if m.traits().fair {
		m.ownWaitState().queue.fair = &fairQueue{}
	}
}

// Ask is a caller that wants in.
func (m *Mutex) Ask(now Time, w *Waiter, fx *Effects) {
	m.tick(now)
	switch {
	case w.Owner != 0 && m.reenter(now, w):
	case w.Try && (m.t.holds != nil || m.queue.lasting() > 0): // rule 10: TryLock never takes a handoff
		m.cfg.Answer(w, Outcome{Why: Taken, TTL: m.ttl(now)})
	default:
		if w.Try || m.t.phase == free && m.queue.lasting() == 0 && !m.contention.pausing() { // no TryLock keeps a pause
			m.hurry(now)
		}
		m.ownWaitState().queue.push(w)
	}
	m.pump(now, fx)
}

// forget takes out a waiter, also one that waits for a renewal.
func (m *Mutex) forget(w *Waiter) bool { return m.waiting.forget(w) || m.growing().forget(w) }

func (m *Mutex) askAgain() { m.again = m.t.phase != ours && m.queue.head != nil }

// lastOutcome is what is known of the name, as the answer to a waiter that gives up.
func (m *Mutex) lastOutcome(now Time) Outcome {
	if m.t.holds != nil {
		return Outcome{Last: Taken, TTL: m.ttl(now)}
	}
	return m.waiting.lastOutcome(now)
}

// Answer is the command in flight coming back.
func (m *Mutex) Answer(now Time, c *Command, fx *Effects) {
	m.flight = None
	m.t.prolonged(now, c)
	m.tick(now)
	switch k := m.traits(); {
	case c.Op == k.release && (c.Args.Release().Owner != "" || c.ID != m.t.ID || m.t.phase != dead):
		m.heardBy(c)
		m.contended().orphans.answered(now, c)
	case c.Op == k.release:
		m.released(now, c, fx)
	case c.Op == k.acquire:
		m.acquired(now, c, fx)
	case c.Op == FairLeave:
		m.queue.fair.given(now, c)
	case m.t.phase != ours || c.ID != m.t.ID: // it ended while the command was on its way
		m.swapTooLate(now, c)
	case c.Op == Renew:
		m.renewed(now, c)
	default:
		m.confirmed(now, c, fx)
	}
	if m.t.suspected {
		m.suspectAt(now, m.heedAt())
	}
	m.pump(now, fx)
}

// renewed is the answer to a renewal.
func (m *Mutex) renewed(now Time, c *Command) {
	switch c.proves(1) {
	case standing:
		m.tries = 0
		m.t.confirm(now, c)
		m.growing().grown(c, &m.t, func(w *Waiter) { m.growInto(now, w) })
		m.t.follow()
	case absent:
		m.gone(now, c)
	default:
		m.unrenewed(now, c, &m.t, m.growing())
	}
}

// pump moves the name on and lets go of what it needs no more. Every event ends with it.
func (m *Mutex) pump(now Time, fx *Effects) {
	m.advance(now, fx)
	if m.contention != nil {
		m.thin(now)
	}
	if m.waitState != &noWaiters {
		m.returnWaitState()
	}
}

// advance sends the next command of the name, if one is due and none is in flight.
func (m *Mutex) advance(now Time, fx *Effects) {
	if l := m.queue.fair; l != nil {
		l.unsubscribe(&m.Entry, m.cfg, fx)
	}
	if m.t.phase == ours && m.t.holds == nil {
		m.decide(now, fx)
		if m.t.phase == ours { // handed on, or asked whether it may be
			return
		}
	}
	if m.flight != None {
		return
	}
	if m.t.phase == asked && (now >= m.askAt || m.again) {
		m.reask(now, fx)
	}
	switch m.t.phase {
	case free:
		m.pumpFree(now, fx)
	case dead:
		if now >= m.t.Ends {
			m.forgetDead(now)
			m.pumpFree(now, fx)
		} else if now >= m.askAt {
			m.sendRelease(fx)
		}
	case ours:
		m.pumpOurs(now, fx)
	}
}

func (m *Mutex) pumpOurs(now Time, fx *Effects) {
	lease, growing := m.growing().lease()
	switch {
	case growing && (!m.t.Doubt || now >= m.t.RenewAt):
		if m.t.Watch { // it is a renewal besides
			lease = max(lease, m.t.Lease)
		}
	case m.t.Watch && now >= m.t.RenewAt:
		lease = m.t.Lease
	case !m.t.Watch && m.t.Doubt && now >= m.t.RenewAt:
		lease = time.Millisecond // only looks whether it is there: a script never lowers a TTL
	default:
		if !m.releaseOrphan(now, fx) && !m.queue.fair.stayInQueue(m, now, fx) {
			m.confirmAhead(now, fx)
		}
		return
	}
	m.send(Renew, m.t.ID, lease, fx)
}

// send sends the one command of the name. The caller may fill in more, at once.
func (m *Mutex) send(op Op, id uint64, lease time.Duration, fx *Effects) *Command {
	m.again, m.t.suspected = false, false
	return m.lock.send(op, id, lease, fx)
}

// NextAlarm is the first instant at which time alone changes something.
func (m *Mutex) NextAlarm() Time {
	at := Never
	if m.t.phase == ours {
		at = m.t.nextEnd()
	}
	if m.ack != nil && m.t.phase == dead {
		at = min(at, m.t.Deadline)
	}
	if m.contention != nil {
		at = min(at, m.contention.nextAlarm(m))
	}
	if m.flight != None {
		return at
	}
	at = min(at, m.queue.fair.fairAlarm(m))
	switch m.t.phase {
	case ours:
		if m.t.Watch || m.t.Doubt {
			at = min(at, m.t.RenewAt)
		}
	case free:
		if m.queue.head != nil {
			at = min(at, m.askTime())
		}
	case asked, dead:
		at = min(at, m.askAt)
	}
	return at
}

// Idle reports whether the entry can be forgotten.
func (m *Mutex) Idle() bool {
	return m.t.phase == free && m.flight == None && m.queue.head == nil && (m.contention == nil || m.contention.idle()) &&
		m.queue.fair.idle()
}

// ttl is what the local hold's lease has left.
func (m *Mutex) ttl(now Time) time.Duration {
	if m.t.phase == ours {
		return max(m.t.Deadline-now, 0)
	}
	if m.contention != nil {
		return timeLeft(now, m.contention.theirs.ends)
	}
	return 0
}

// Oldest is when the oldest living hold was granted.
func (m *Mutex) Oldest() Time {
	return m.t.oldest()
}
