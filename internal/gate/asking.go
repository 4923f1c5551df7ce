package gate

import (
	"time"

	"github.com/wheellock/wheellock/scripts"
)

// askFree asks for the head of the queue when it is time, once nothing of us may be left in Redis.
func (m *mutexLease) askFree(now Time, fx *Effects) {
	if m.releaseOrphan(now, fx) {
		return
	}
	if m.queue.fair != nil {
		m.queue.fair.askInQueue(m, now, fx)
		return
	}
	w := m.queue.head
	if w == nil || now < m.askTime() {
		return
	}
	op, id := m.question(w)
	m.t.ask(id, w.Lease, w.Watch)
	m.sendAcquire(op, w.takes(w.Lease), fx)
}

// reask repeats an acquire of which an answer was lost, under the same owner id: asking twice is harmless.
// If nobody wants it any more, what it may have taken is released.
func (m *mutexLease) reask(now Time, fx *Effects) {
	w := m.queue.head
	if w == nil {
		m.t.Deadline = 0
		m.drop(now, nil)
		return
	}
	m.t.askFor(w)
	m.sendAcquire(m.repeats(), w.takes(m.t.Lease), fx)
}

// acquired is the answer to an acquire. True: the tenure is ours, and to be handed out.
func (m *mutexLease) acquired(now Time, c *Command, fx *Effects) bool {
	if l := m.queue.fair; l != nil && l.answeredInQueue(m, now, c, fx) {
		return false
	}
	sure := m.t.Unsure <= c.Sent
	switch m.lock.acquired(now, c, &m.t, m.releaseOp(), &m.tries) {
	case heldByOther:
		if c.Op == AcquireClaim {
			m.contention.claim.note(now, c, c.Args.Claim().Code, sure)
		}
		ttl, _ := c.Reply.Held()
		m.refused(now, c.Sent, ttl, fx)
	case heldByUs:
		m.contention.endClaim(c.ID)
		m.t.confirm(now, c, c.Lease)
		m.fence(int64(c.Reply))
		m.settleYield(true, now)
		if m.givenInVain(now, c) {
			return false
		}
		if m.contention != nil {
			m.contention.enter(now, m.cfg)
			m.contention.found(now, true)
			m.contention.last = m.contention.last.noted(Outcome{Why: Taken})
		}
		return true
	}
	return false
}

// refused is an acquire that found another owner.
func (m *mutexLease) refused(now, sent Time, ttl time.Duration, fx *Effects) {
	m.tries = 0
	if !m.lock.refused(now, sent, ttl, m.t.ID, false) {
		return
	}
	m.contention.turns.taken = true
	sleep := m.cfg.sleep(ttl, m.t.ID)
	switch {
	case m.traits().polls:
		m.askAt = now + min(m.contention.spin(m.queue.n, m.t.ID), sleep)
	case m.queue.fair != nil:
		m.queue.fair.sleepInQueue(m, now, sleep, fx)
	default:
		m.contention.want(&m.Entry, scripts.LockChannel, fx)
	}
}

// givenInVain gives back what c took if its lease was over when the answer came, or too few replicas have it. A
// grant that is read after its own deadline is not handed out. Waiters ask again after a pause; whoever asks only once is told.
func (m *mutexLease) givenInVain(now Time, c *Command) bool {
	out := m.t.unusable(now, c)
	if out.Why == Granted {
		m.tries = 0
		return false
	}
	m.gaveBack(now, m.t.ID, &m.tries, out)
	ack, _ := m.contention.forced(m.t.ID)
	m.drop(now, ack)
	return true
}
