package gate

import (
	"time"

	"github.com/wheellock/wheellock/scripts"
)

// A fair mutex is a mutex with a queue in Redis, which decides which waiter is next: nothing is handed on
// without asking it. Its release takes the lock for the first waiter of this process in the same script when it is the
// turn of that waiter, or for the head of the queue, if its engine claims it (claim.go). This file is the strategy that the Mutex
// consults; fairqueue.go keeps the places.

// askInQueue asks whether it is our turn, adds the waiters that have no place in the queue yet, and says that we live.
func (l *fairQueue) askInQueue(m *mutexLease, now Time, fx *Effects) {
	w := m.queue.head
	if w == nil || now < m.askTime() && (l.next == nil || now < l.joinAt) {
		return
	}
	place := scripts.InQueue
	switch w {
	case l.next:
		place = scripts.FirstToJoin
	default:
		if w.Try {
			place = scripts.NoPlace
			m.cfg.LastID++
			w.place = m.cfg.LastID
		}
	}
	first, n := l.joining(m.cfg)
	m.t.ask(w.place, w.Lease, w.Watch)
	l.doubt(now, &m.t.Tenure)
	m.cfg.Stats.Attempts.Inc()
	args := FairAskArgs{Place: place, First: first, Joining: n}
	if m.cfg.Code != nil && place == scripts.InQueue && w.heard && w.mayClaim() {
		args.Code = m.cfg.Code()
	}
	m.send(FairAsk, w.place, w.takes(w.Lease), fx).Args = args.Args()
}

// doubt notes for a fresh tenure that a command without an answer may still take the lock for it.
func (l *fairQueue) doubt(now Time, t *Tenure) {
	if l != nil && l.lateAt > now {
		t.unsure(l.lateAt)
	}
}

// stayInQueue does the same while we hold the lock, without asking for it.
func (l *fairQueue) stayInQueue(m *mutexLease, now Time, fx *Effects) bool {
	if l == nil || m.queue.head == nil || (l.next == nil || now < l.joinAt) && now < l.freshAt {
		return false
	}
	first, n := l.joining(m.cfg)
	m.send(FairAsk, 0, 0, fx).Args = FairAskArgs{Place: scripts.InQueue, First: first, Joining: n}.Args()
	return true
}

// answeredInQueue is the answer to both. False: the lock is ours.
func (l *fairQueue) answeredInQueue(m *mutexLease, now Time, c *Command, fx *Effects) bool {
	_, late := c.Reply.Late()
	ran := c.ran() && !late && c.Reply.Fault() == scripts.None
	if ran {
		l.joined(c)
		l.freshAt, l.joinAt = c.Sent+m.cfg.FairWaiterLease/3, 0
	}
	switch {
	case ran && c.Reply.Granted():
		return false
	case c.Result == Unknown:
		l.unsureInQueue(m, now, c)
	case ran && c.ID == 0:
		l.stays = 0
	case ran:
		m.t.phase = free
		if c.Reply.Claimed() {
			m.contended().note(now, c, c.Args.FairAsk().Code)
		}
		ttl, _ := c.Reply.Held()
		m.refused(now, c.Sent, ttl, fx)
	default:
		out, pause := declined(c, l.asks(m, c))
		l.joinAt = now + pause
		l.freshAt = max(l.freshAt, l.joinAt)
		if c.ID != 0 {
			m.t.phase, m.askAt = free, l.joinAt
		}
		m.tell(out)
	}
	return true
}

// asks counts the attempts in vain at what c does: asking for the lock, or staying in the queue while we hold it.
func (l *fairQueue) asks(m *mutexLease, c *Command) *retries {
	if c.ID == 0 {
		return &l.stays
	}
	return &m.tries
}

// unsureInQueue is a lost answer: the waiters that were to join may have places, and the first may have the
// lock. The same command is sent again; for waiters that go away meanwhile, places are given up, and once more when
// nothing can bring them back.
func (l *fairQueue) unsureInQueue(m *mutexLease, now Time, c *Command) {
	l.unsure(c.Sent)
	l.joinAt = now + l.asks(m, c).next(c.ID)
	l.freshAt = max(l.freshAt, l.joinAt)
	if c.ID == 0 {
		return
	}
	m.t.phase, m.askAt = free, l.joinAt
	if c.Args.FairAsk().Place == scripts.NoPlace {
		l.leave(c.ID)
	}
	m.tell(unprovedOutcome(c))
}

// sleepInQueue is the rest of a refusal: the first waiters listen, and ask again in time to stay alive.
func (l *fairQueue) sleepInQueue(m *mutexLease, now Time, sleep time.Duration, fx *Effects) {
	third := m.cfg.FairWaiterLease / 3
	m.askAt = now + min(sleep, third-jitter(m.t.ID, third/4))
	l.listen(&m.Entry, m.queue.head, m.cfg, fx)
}

// successor puts into a release the waiter that is to get the lock when it is our turn.
func (l *fairQueue) successor(m *mutexLease, c *Command) {
	w := m.queue.head
	if l != nil && w != nil && w != l.next && !w.Try && w.Least == 0 {
		c.Args, c.Lease = ReleaseArgs{Successor: w.place}.Args(), w.Lease
	}
}

// passedOn is the answer to a release that took the lock for our next waiter.
func (l *fairQueue) passedOn(m *mutexLease, now Time, c *Command) {
	m.acknowledge(Outcome{})
	m.orphaned(&m.t, c.Sent, m.traits().release)
	m.t.phase = ours
	m.t.Tenure = Tenure{ID: c.Args.Release().Successor, Lease: c.Lease}
	l.doubt(now, &m.t.Tenure)
	m.t.confirm(now, c, c.Lease, m.cfg.Stats)
}

// first reports whether w is the waiter with that place. In a lock without a queue any waiter is.
func (l *fairQueue) first(w *Waiter, place uint64) bool { return l == nil || w.place == place }

// takenInVain has all waiters join anew when the first of them does not get the lock that was taken under its number: the lock is
// given back, or was freed by force.
func (l *fairQueue) takenInVain(m *mutexLease, now Time, id uint64) {
	if w := m.queue.head; l != nil && w != nil && id != 0 && w.place == id {
		l.startOver(w, max(now, m.askTime()))
	}
}

// admitted is the waiter that the tenure was taken for, out of the queue; nil: it waits no longer, and the queue in Redis says which is
// next.
func (l *fairQueue) admitted(m *mutexLease, now Time) *Waiter {
	w := m.queue.head
	if w == nil || w.place != m.t.ID {
		return nil
	}
	m.t.Watch = w.Watch
	w.place = 0 // it stands in the queue no more
	l.returned()
	if now < l.lateAt {
		l.returning = m.t.ID
	}
	if w.heard {
		l.unlisten(w, m.t.ID)
	}
	m.queue.remove(w)
	return w
}

// leaveQueue gives up places in the queue. Not twice in a row while somebody wants to ask.
func (l *fairQueue) leaveQueue(m *mutexLease, now Time, fx *Effects) bool {
	if l.turnGiven && m.t.phase == free && m.queue.head != nil && (m.again || now >= m.askAt) {
		l.turnGiven = false
		return false
	}
	if l.turnGiven = l.give(now); !l.turnGiven {
		return false
	}
	again := m.again
	m.send(FairLeave, l.out.first, 0, fx).Args = FairLeaveArgs{l.out.n}.Args()
	m.again = again // leaving asks nothing
	return true
}

// subscribedInQueue is one of our channels being confirmed, perhaps again, or refused.
func (l *fairQueue) subscribedInQueue(m *mutexLease, now Time, refusal string) {
	if refusal != "" {
		if !l.confirmed {
			m.turnAway(Outcome{Why: Refused, ServerMessage: refusal}, everyone)
		}
		l.denied = true
		return
	}
	// What was published before is lost. One question is enough for channels that were confirmed together.
	if !l.confirmed || l.heardAt != now {
		m.askAgain()
	}
	l.confirmed, l.heardAt = true, now
}

// outOfTurn is a release after which it was not our turn, as the queue in Redis has it: our first waiter listens
// for the turn, and asks when it can hear.
func (l *fairQueue) outOfTurn(m *mutexLease, now Time, fx *Effects) {
	if m.queue.head == nil {
		return
	}
	if m.queue.head.place == 0 { // it has no place until it asks
		m.askAt = now
		return
	}
	l.sleepInQueue(m, now, m.cfg.PollCap, fx)
}

// fairAlarm is when something about the queue is due.
func (l *fairQueue) fairAlarm(m *mutexLease) Time {
	if l == nil || m.t.phase == dead {
		return Never
	}
	at := l.nextAlarm()
	if m.t.phase == ours && m.queue.head != nil {
		at = min(at, l.freshAt)
	}
	return at
}
