package gate

import (
	"time"

	"github.com/wheellock/wheellock/scripts"
)

// mutexLease is the one lease of a mutex in Redis: it is asked for and kept, and given back (ending.go), in the order of arrival
// here or in that of a queue in Redis (fair.go). The holds under it are Mutex's.
type mutexLease struct {
	lock
	t ownership
}

// send sends the one command of the name. The caller may fill in more, at once.
func (m *mutexLease) send(op Op, id uint64, lease time.Duration, fx *Effects) *Command {
	m.again, m.t.suspected = false, false
	return m.lock.send(op, id, lease, fx)
}

// ttl is what the local hold's lease has left.
func (m *mutexLease) ttl(now Time) time.Duration {
	if m.t.phase == ours {
		return max(m.t.Deadline-now, 0)
	}
	if m.contention != nil {
		return timeLeft(now, m.contention.theirs.ends)
	}
	return 0
}

// lastOutcome is what is known of the name, as the answer to a waiter that gives up.
func (m *mutexLease) lastOutcome(now Time) Outcome {
	if m.t.holds != nil {
		return Outcome{Last: Taken, TTL: m.ttl(now)}
	}
	return m.waiting.lastOutcome(now)
}

// Oldest is when the oldest living hold was granted.
func (m *mutexLease) Oldest() Time {
	return m.t.oldest()
}

// fence gives the tenure its block: the numbers that end at last.
func (m *mutexLease) fence(last int64) {
	if m.traits().fenced {
		m.contended().tokens = tokens{last - TokenBlock + 1, last}
	}
}

// fenced reports whether the tenure may be handed on as far as tokens go.
func (m *mutexLease) fenced() bool {
	return !m.traits().fenced || m.contention.tokens.left()
}

// growing is what waits for a renewal with a longer lease; nil: nothing does.
func (m *mutexLease) growing() *growths {
	if m.contention == nil || len(m.contention.growing) == 0 {
		return nil
	}
	return &m.contention.growing
}

// forget takes out a waiter, also one that waits for a renewal or for the place of another owner.
func (m *mutexLease) forget(w *Waiter) bool {
	return m.waiting.forget(w) || m.growing().forget(w) || m.contention != nil && m.contention.adopting.forget(w)
}

// requeue has a re-entry wait like any caller: its Owner holds nothing any more.
func (m *mutexLease) requeue(now Time, w *Waiter) {
	if w.Try && (m.t.holds != nil || m.queue.lasting() > 0) {
		m.cfg.Answer(w, Outcome{Why: Taken, TTL: m.ttl(now)})
		return
	}
	m.ownWaitState().queue.push(w)
}

func (m *mutexLease) turnAllAway() {
	m.waiting.turnAllAway()
	m.growing().turnAway(m.cfg, Outcome{Why: Closed}, everyone)
	m.contention.turnAdoptersAway(m.cfg, Closed, "")
}

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

// claims reports whether waiters of this name may have claims.
func (m *mutexLease) claims() bool {
	return m.cfg.Code != nil && m.traits().claims && m.contention != nil
}

// question is how the next acquire for w asks, and under which number. As long as a claim stands its owner id is asked for.
func (m *mutexLease) question(w *Waiter) (op Op, id uint64) {
	op = m.traits().acquire
	if m.claims() {
		c := &m.contention.claim
		if c.id != 0 {
			return AcquireClaim, c.id
		}
		if m.contention.state == subscribed && w.mayClaim() {
			op = AcquireClaim
		}
	}
	m.cfg.LastID++
	return op, m.cfg.LastID
}

// repeats is the operation that asks again for the tenure after an acquire without an answer.
func (m *mutexLease) repeats() Op {
	if m.claims() && m.contention.claim.asked == m.t.ID {
		return AcquireClaim
	}
	return m.traits().acquire
}

// sendAcquire sends an acquire of the tenure that is asked for.
func (m *mutexLease) sendAcquire(op Op, lease time.Duration, fx *Effects) {
	m.cfg.Stats.Attempts.Inc()
	c := m.send(op, m.t.ID, lease, fx)
	if op == AcquireClaim {
		c.Args = ClaimArgs{Code: m.cfg.Code()}.Args()
		of := &m.contention.claim
		of.asked = m.t.ID
		m.t.Ends = max(m.t.Ends, of.ends)
	}
}

// acquired is the answer to an acquire. True: the tenure is ours, and to be handed out.
func (m *mutexLease) acquired(now Time, c *Command, fx *Effects) bool {
	if l := m.queue.fair; l != nil && l.answeredInQueue(m, now, c, fx) {
		return false
	}
	switch m.lock.acquired(now, c, &m.t, m.releaseOp(), &m.tries) {
	case heldByOther:
		if c.Op == AcquireClaim {
			m.contention.note(now, c, c.Args.Claim().Code)
		}
		ttl, _ := c.Reply.Held()
		m.refused(now, c.Sent, ttl, fx)
	case heldByUs:
		m.contention.endClaim(c.ID)
		m.t.confirm(now, c, c.Lease, m.cfg.Stats)
		m.fence(int64(c.Reply))
		m.settleYield(true, now)
		if m.givenInVain(now, c) {
			return false
		}
		if m.contention != nil {
			m.contention.enter(now, m.cfg)
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
// grant that is read after its own deadline is not handed out. Waiters ask again after a pause; a caller that asks only once is told.
func (m *mutexLease) givenInVain(now Time, c *Command) bool {
	out := m.t.unusable(now, c, c.Lease)
	if out.Why == Granted {
		m.tries = 0
		return false
	}
	m.gaveBack(now, m.t.ID, &m.tries, out)
	ack, _ := m.contention.forced(m.t.ID)
	m.drop(now, ack)
	return true
}

// askAgain has the waiters ask, unless the lock is ours.
func (m *mutexLease) askAgain() { m.again = m.t.phase != ours && m.queue.head != nil }

// heard is a hint that the lock was freed. While we hold it, it is a hint that we do not.
func (m *mutexLease) heard(now Time) {
	if m.t.phase == ours {
		m.contention.found(now, false)
		m.suspectAt(now, m.contention.heedAt)
	} else {
		m.hinted(now)
	}
}

// suspectAt has Redis asked at that time at the latest.
func (m *mutexLease) suspectAt(now, at Time) {
	m.t.suspected = m.flight != None
	m.t.suspect(max(now, at))
}

// reconnected has the tenure verified, or the waiters ask again.
func (m *mutexLease) reconnected(now Time) {
	if l := m.queue.fair; l != nil {
		l.hurry()
	}
	if m.t.phase == ours {
		m.suspectAt(now, now)
	} else {
		m.askAgain()
	}
}

// renew sends the renewal that is due: the watchdog's, one that somebody waits for, or one that only looks whether the lease is
// there.
func (m *mutexLease) renew(now Time, fx *Effects) bool {
	lease, growing := m.growing().lease()
	switch {
	case growing && (!m.t.Doubt || now >= m.t.RenewAt):
		if m.t.Watch { // it is a renewal besides
			lease = max(lease, m.t.Lease)
		}
	case m.t.Watch && now >= m.t.RenewAt:
		lease = m.t.Lease
	case !m.t.Watch && m.t.Doubt && now >= m.t.RenewAt:
		lease = time.Millisecond // a script never lowers a TTL
	default:
		return false
	}
	m.send(Renew, m.t.ID, lease, fx)
	return true
}
