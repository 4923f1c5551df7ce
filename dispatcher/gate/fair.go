package gate

import (
	"time"

	"github.com/wheellock/wheellock/scripts"
)

// A fair mutex has a queue in Redis, which decides which waiter is next, so its lease is not handed on inside the process. In the same script
// as the release, Redis takes the lock for the first waiter of this process if it is that waiter's turn, or else for the head of the queue
// if the head has a claim (gift.go). Below is what a Lock does that is fair; fairqueue.go keeps the places, and knows no Lock.

// askInQueue sends a FairAsk: it asks for the lock for the first waiter, adds the waiters without a place to the queue, and renews the
// liveness of this engine.
func (l *Lock) askInQueue(f *fairQueue, now Time, fx *Effects) {
	w := l.contest.queue.head
	if l.flight != None || l.lease.phase != free || w == nil || now < l.contest.askTime(l.again) && (f.toJoin == nil || now < f.joinAt) {
		return
	}
	place := scripts.InQueue
	switch w {
	case f.toJoin:
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
	l.lease.ask(w.place, w.LeaseTime, w.Watch, true)
	f.noteUnsure(now, &l.lease.Tenure)
	l.cfg.Stats.Attempts.Inc()
	args := FairAskArgs{Place: place, First: first, Joining: n}
	if !l.cfg.Doubts && place == scripts.InQueue && w.subscribed && !f.denied && w.acceptsGift() {
		args.Code = l.cfg.claimCode()
	}
	l.send(FairAsk, w.place, w.takes(w.LeaseTime), fx).Args = args.Args()
}

// noteUnsure records for a new lease that a command without an answer may still take the lock for its owner.
func (f *fairQueue) noteUnsure(now Time, t *Tenure) {
	if f.lateAt > now {
		t.unanswered(f.lateAt)
	}
}

// askToStay sends a FairAsk that only adds waiters and renews the liveness, while this process has the lock.
func (l *Lock) askToStay(f *fairQueue, now Time, fx *Effects) {
	if l.flight != None || l.lease.phase != ours || l.contest.queue.head == nil || (f.toJoin == nil || now < f.joinAt) && now < f.freshAt {
		return
	}
	first, n := f.joining(l.cfg)
	l.send(FairAsk, 0, 0, fx).Args = FairAskArgs{Place: scripts.InQueue, First: first, Joining: n}.Args()
}

// answeredInQueue handles the answer to a FairAsk. False: it granted the lock.
func (l *Lock) answeredInQueue(f *fairQueue, now Time, c *Command, fx *Effects) bool {
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
		l.unansweredInQueue(f, now, c)
	case ran && c.ID == 0:
		f.stayTries = 0
	case ran:
		l.lease.phase = free
		if c.Reply.Place().Stands {
			l.ownRivals().placed(now, c, c.Args.FairAsk().Code)
		}
		ttl, _ := c.Reply.Held()
		l.refused(now, c, ttl, fx)
	default:
		out, pause := declinedOutcome(c, l.queueTries(f, c))
		f.joinAt = now + pause
		f.freshAt = max(f.freshAt, f.joinAt)
		if c.ID != 0 {
			l.lease.phase, l.contest.askAt = free, f.joinAt
		}
		l.contest.answerWaiters(l.cfg, out)
	}
	return true
}

// queueTries counts the failures in a row of FairAsks like c: of those that ask for the lock, or of those that do not.
func (l *Lock) queueTries(f *fairQueue, c *Command) *retries {
	if c.ID == 0 {
		return &f.stayTries
	}
	return &l.tries
}

// unansweredInQueue handles a FairAsk without an answer: the waiters that were to join may have places, and the first may have the lock.
// The same command is sent again. The places of waiters that give up meanwhile are given up at once, and again when nothing can bring them
// back.
func (l *Lock) unansweredInQueue(f *fairQueue, now Time, c *Command) {
	f.unanswered(c.Sent)
	f.joinAt = now + l.queueTries(f, c).next(c.ID)
	f.freshAt = max(f.freshAt, f.joinAt)
	if c.ID == 0 {
		return
	}
	l.lease.phase, l.contest.askAt = free, f.joinAt
	if c.Args.FairAsk().Place == scripts.NoPlace {
		f.leave(c.ID)
	}
	l.contest.answerWaiters(l.cfg, unprovedOutcome(c))
}

// pauseInQueue has the first waiters listen after a refusal, and sets the time of the next question, early enough for the liveness.
func (l *Lock) pauseInQueue(f *fairQueue, now Time, sleep time.Duration, fx *Effects) {
	third := l.cfg.FairWaiterLease / 3
	l.contest.askAt = now + min(sleep, third-jitter(l.lease.ID, third/4))
	f.subscribe(&l.Entry, l.contest.queue.head, l.cfg, fx)
}

// addSuccessor adds to a release the waiter of this process that gets the lock if it is its turn.
func (l *Lock) addSuccessor(f *fairQueue, c *Command) {
	w := l.contest.queue.head
	if w != nil && w != f.toJoin && !w.Try && w.Least == 0 {
		c.Args, c.LeaseTime = FairReleaseArgs{Successor: w.place}.Args(), w.LeaseTime
	}
}

// passedOn handles the answer to a release that took the lock for our next waiter.
func (l *Lock) passedOn(f *fairQueue, now Time, c *Command) {
	g := &l.lease
	l.contest.acks.settle(Outcome{})
	l.trackOrphan(g, c.Sent)
	suspected := g.suspected // while the release was on its way
	g.ask(c.Args.FairRelease().Successor, c.LeaseTime, false, true)
	g.phase, g.suspected = ours, suspected
	f.noteUnsure(now, &g.Tenure)
	g.confirm(now, c, l.cfg)
	l.admitOrDrop(now, g, c)
}

// joinAgain has all waiters join again if the first of them does not get the lock that was taken under its number, because it is given
// back or was released by force.
func (l *Lock) joinAgain(f *fairQueue, now Time, id uint64) {
	if w := l.contest.queue.head; w != nil && id != 0 && w.place == id {
		f.joinAnew(w, max(now, l.contest.askTime(l.again)))
	}
}

// admittedInQueue removes from the queue the waiter that the lease was taken for, and returns it; nil: it has given up, and the queue in Redis
// decides who is next.
func (l *Lock) admittedInQueue(f *fairQueue, now Time) *Waiter {
	w := l.contest.queue.head
	if w == nil || w.place != l.lease.ID {
		return nil
	}
	l.lease.Watch = w.Watch
	w.place = 0 // the lock was granted, so the place is gone
	f.leaveReturning()
	if now < f.lateAt {
		f.returning = l.lease.ID
	}
	if w.subscribed {
		f.dropChannel(w, l.lease.ID)
	}
	l.contest.queue.remove(w)
	return w
}

// leaveQueue sends a FairLeave for places that are to be given up, but not twice in a row while a question is due.
func (l *Lock) leaveQueue(f *fairQueue, now Time, fx *Effects) {
	if l.flight != None {
		return
	}
	if f.justLeft && l.lease.phase == free && l.contest.queue.head != nil && (l.again || now >= l.contest.askAt) {
		f.justLeft = false
		return
	}
	if f.justLeft = f.takeLeaving(now); !f.justLeft {
		return
	}
	l.send(FairLeave, f.leavingNow.first, 0, fx).Args = FairLeaveArgs{f.leavingNow.n}.Args()
}

// subscribedInQueue handles the confirmation of one of our channels, which comes again after a reconnect, or its refusal.
func (l *Lock) subscribedInQueue(f *fairQueue, now Time, refusal string) {
	if refusal != "" {
		f.denied = true
		return
	}
	// Messages from before the confirmation are lost. One question is enough for channels that were confirmed together.
	if !f.confirmed || f.confirmedAt != now {
		l.askAgain()
	}
	f.confirmed, f.confirmedAt = true, now
}

// releasedToQueue handles a release that left the lock to the queue in Redis, because it was not our turn: our first waiter listens for its
// turn, and asks when it has subscribed.
func (l *Lock) releasedToQueue(f *fairQueue, now Time, fx *Effects) {
	if w := l.contest.queue.head; w != nil && w.place != 0 { // else it has no place until it asks, now
		l.pauseInQueue(f, now, l.cfg.PollCap, fx)
	}
}

// queueAlarm is when the next command about the queue is due.
func (l *Lock) queueAlarm(f *fairQueue) Time {
	if l.lease.phase == dead {
		return Never
	}
	at := f.nextAlarm()
	if l.lease.phase == ours && l.contest.queue.head != nil {
		at = min(at, f.freshAt)
	}
	return at
}
