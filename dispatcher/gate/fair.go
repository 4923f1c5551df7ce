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
func (f *fairQueue) askInQueue(l *Lock, now Time, fx *Effects) bool {
	w := l.contest.queue.head
	if w == nil || now < l.contest.askTime(l.again) && (f.next == nil || now < f.joinAt) {
		return false
	}
	place := scripts.InQueue
	switch w {
	case f.next:
		place = scripts.FirstToJoin
	default:
		if w.Try {
			place = scripts.NoPlace
			l.cfg.LastID++
			w.place = l.cfg.LastID
		}
	}
	first, n := f.joining(l.cfg)
	l.again = false
	l.lease.ask(w.place, w.Lease, w.Watch, true)
	f.doubt(now, &l.lease.Tenure)
	l.cfg.Stats.Attempts.Inc()
	args := FairAskArgs{Place: place, First: first, Joining: n}
	if l.cfg.Code != nil && place == scripts.InQueue && w.heard && w.mayClaim() {
		args.Code = l.cfg.Code()
	}
	l.send(FairAsk, w.place, w.takes(w.Lease), fx).Args = args.Args()
	return true
}

// doubt notes for a fresh tenure that a command without an answer may still take the lock for it.
func (f *fairQueue) doubt(now Time, t *Tenure) {
	if f.lateAt > now {
		t.unsure(f.lateAt)
	}
}

// stayInQueue does the same while we hold the lock, without asking for it.
func (f *fairQueue) stayInQueue(l *Lock, now Time, fx *Effects) bool {
	if l.lease.phase != ours || l.contest.queue.head == nil || (f.next == nil || now < f.joinAt) && now < f.freshAt {
		return false
	}
	first, n := f.joining(l.cfg)
	l.send(FairAsk, 0, 0, fx).Args = FairAskArgs{Place: scripts.InQueue, First: first, Joining: n}.Args()
	return true
}

// answeredInQueue is the answer to both. False: the lock is ours.
func (f *fairQueue) answeredInQueue(l *Lock, now Time, c *Command, fx *Effects) bool {
	_, late := c.Reply.Late()
	ran := c.ran() && !late && c.Reply.Fault() == scripts.None
	if ran {
		f.joined(c)
		f.freshAt, f.joinAt = c.Sent+l.cfg.FairWaiterLease/3, 0
	}
	switch {
	case ran && c.Reply.Granted() && c.ID != 0:
		return false
	case c.Result == Unknown:
		f.unsureInQueue(l, now, c)
	case ran && c.ID == 0:
		f.stays = 0
	case ran:
		l.lease.phase = free
		if c.Reply.Claimed() {
			l.rivals().claimed(now, c, c.Args.FairAsk().Code)
		}
		ttl, _ := c.Reply.Held()
		l.refused(now, c.Sent, ttl, l.lease.ID, fx)
	default:
		out, pause := declined(c, f.asks(l, c))
		f.joinAt = now + pause
		f.freshAt = max(f.freshAt, f.joinAt)
		if c.ID != 0 {
			l.lease.phase, l.contest.askAt = free, f.joinAt
		}
		l.contest.tell(l.cfg, out)
	}
	return true
}

// asks counts the attempts in vain at what c does: asking for the lock, or staying in the queue while we hold it.
func (f *fairQueue) asks(l *Lock, c *Command) *retries {
	if c.ID == 0 {
		return &f.stays
	}
	return &l.tries
}

// unsureInQueue is a lost answer: the waiters that were to join may have places, and the first may have the
// lock. The same command is sent again; for waiters that go away meanwhile, places are given up, and once more when
// nothing can bring them back.
func (f *fairQueue) unsureInQueue(l *Lock, now Time, c *Command) {
	f.unsure(c.Sent)
	f.joinAt = now + f.asks(l, c).next(c.ID)
	f.freshAt = max(f.freshAt, f.joinAt)
	if c.ID == 0 {
		return
	}
	l.lease.phase, l.contest.askAt = free, f.joinAt
	if c.Args.FairAsk().Place == scripts.NoPlace {
		f.leave(c.ID)
	}
	l.contest.tell(l.cfg, unprovedOutcome(c))
}

// sleepInQueue is the rest of a refusal: the first waiters listen, and ask again in time to stay alive.
func (f *fairQueue) sleepInQueue(l *Lock, now Time, sleep time.Duration, fx *Effects) {
	third := l.cfg.FairWaiterLease / 3
	l.contest.askAt = now + min(sleep, third-jitter(l.lease.ID, third/4))
	f.listen(&l.Entry, l.contest.queue.head, l.cfg, fx)
}

// successor puts into a release the waiter that is to get the lock when it is our turn.
func (f *fairQueue) successor(l *Lock, c *Command) {
	w := l.contest.queue.head
	if w != nil && w != f.next && !w.Try && w.Least == 0 {
		c.Args, c.Lease = ReleaseArgs{Successor: w.place}.Args(), w.Lease
	}
}

// passedOn is the answer to a release that took the lock for our next waiter.
func (f *fairQueue) passedOn(l *Lock, now Time, c *Command) {
	g := &l.lease
	l.contest.acks.acknowledge(Outcome{})
	l.orphaned(g, c.Sent)
	suspected := g.suspected // while the release was on its way
	g.ask(c.Args.Release().Successor, c.Lease, false, true)
	g.phase, g.suspected = ours, suspected
	f.doubt(now, &g.Tenure)
	g.confirm(now, c, l.cfg)
	l.handOut(now, g, c)
}

// takenInVain has all waiters join anew when the first of them does not get the lock that was taken under its number: the lock is
// given back, or was freed by force.
func (f *fairQueue) takenInVain(l *Lock, now Time, id uint64) {
	if w := l.contest.queue.head; w != nil && id != 0 && w.place == id {
		f.startOver(w, max(now, l.contest.askTime(l.again)))
	}
}

// admitted is the waiter that the tenure was taken for, out of the queue; nil: it waits no longer, and the queue in Redis says which is
// next.
func (f *fairQueue) admitted(l *Lock, now Time) *Waiter {
	w := l.contest.queue.head
	if w == nil || w.place != l.lease.ID {
		return nil
	}
	l.lease.Watch = w.Watch
	w.place = 0 // it stands in the queue no more
	f.returned()
	if now < f.lateAt {
		f.returning = l.lease.ID
	}
	if w.heard {
		f.unlisten(w, l.lease.ID)
	}
	l.contest.queue.remove(w)
	return w
}

// leaveQueue gives up places in the queue. Not twice in a row while somebody wants to ask.
func (f *fairQueue) leaveQueue(l *Lock, now Time, fx *Effects) bool {
	if f.turnGiven && l.lease.phase == free && l.contest.queue.head != nil && (l.again || now >= l.contest.askAt) {
		f.turnGiven = false
		return false
	}
	if f.turnGiven = f.give(now); !f.turnGiven {
		return false
	}
	again := l.again
	l.send(FairLeave, f.out.first, 0, fx).Args = FairLeaveArgs{f.out.n}.Args()
	l.again = again // leaving asks nothing
	return true
}

// subscribedInQueue is one of our channels being confirmed, perhaps again, or refused.
func (f *fairQueue) subscribedInQueue(l *Lock, now Time, refusal string) {
	if refusal != "" {
		if !f.confirmed {
			l.contest.turnAway(l.cfg, Outcome{Why: Refused, ServerMessage: refusal}, everyone)
		}
		f.denied = true
		return
	}
	// What was published before is lost. One question is enough for channels that were confirmed together.
	if !f.confirmed || f.heardAt != now {
		l.askAgain()
	}
	f.confirmed, f.heardAt = true, now
}

// outOfTurn is a release after which it was not our turn, as the queue in Redis has it: our first waiter listens
// for the turn, and asks when it can hear.
func (f *fairQueue) outOfTurn(l *Lock, now Time, fx *Effects) {
	if l.contest.queue.head == nil {
		return
	}
	if l.contest.queue.head.place == 0 { // it has no place until it asks
		l.contest.askAt = now
		return
	}
	f.sleepInQueue(l, now, l.cfg.PollCap, fx)
}

// alarm is when something about the queue is due.
func (f *fairQueue) alarm(l *Lock) Time {
	if l.lease.phase == dead {
		return Never
	}
	at := f.nextAlarm()
	if l.lease.phase == ours && l.contest.queue.head != nil {
		at = min(at, f.freshAt)
	}
	return at
}
