package gate

import (
	"time"

	"github.com/wheellock/wheellock/scripts"
)

// What a Lock does about a lease that it has: renewals, at its end the release, and before that the handoff to the next waiter.

// renew sends the renewal or the downgrade of g that is due. If no caller needs a longer lease and the watchdog does not keep g, the
// renewal only asks whether the lease is there.
func (l *Lock) renew(now Time, g *Lease, fx *Effects) {
	growing := l.contest.rivals.growing.head
	switch {
	case now < g.renewAt(growing != nil):
	case g.downgradeDue():
		g.torn = true // until the answer says what it is
		l.send(Downgrade, g.ID, l.keepLease(now, g), fx)
	default:
		lease := l.keepLease(now, g)
		for w := growing; w != nil; w = w.next {
			lease = max(lease, w.takes(w.LeaseTime))
		}
		g.holds.notifyRenewers()
		l.send(l.ops(g.write).renew, g.ID, lease, fx)
	}
}

// keepLease is the lease that a renewal of g asks for. With the watchdog it is the watchdog's. A mutex with a fixed lease asks for the
// shortest, because scripts never lower a TTL. A read-write lock asks for what its fixed leases have left, and a little more: the deadline
// that follows from it, a margin earlier, must not lie before their end.
func (l *Lock) keepLease(now Time, g *Lease) time.Duration {
	switch {
	case g.Watch:
		return g.LeaseTime
	case l.Kind != RWKind:
		return time.Millisecond
	}
	rest := max(g.extent-now, 0)
	return (rest + margin(rest) + margin(rest)/50 + 2*time.Millisecond).Truncate(time.Millisecond)
}

// renewed handles the answer to a renewal.
func (l *Lock) renewed(now Time, g *Lease, c *Command) {
	switch c.proves(1) {
	case standing:
		l.tries = 0
		g.confirm(now, c, l.cfg)
		l.settleRenewed(now, g, c)
	case absent:
		l.vanished(now, g, c)
	default:
		l.unrenewed(now, g, c)
	}
}

// unrenewed handles a renewal that proved nothing.
func (l *Lock) unrenewed(now Time, g *Lease, c *Command) {
	g.unrenewed(now, c, &l.tries)
	g.warnOverdue(now, c, l.cfg.Stats)
	l.contest.rivals.growing.dismiss(l.cfg, unprovedOutcome(c), triesOnce)
}

// drop begins the release of a lease without holds. ack gets the answer.
func (l *Lock) drop(now Time, g *Lease, ack Settler) {
	l.addAck(ack)
	g.phase, g.Next = dead, now
	l.contest.rivals.forgetPlace(g.ID)
	if f := l.contest.queue.fair; f != nil {
		l.contest.askFrom(now) // when the release is answered
		l.joinAgain(f, now, g.ID)
	}
	l.settleGrowths(now)
}

// lose ends all holds of a lease and begins its release. Their contexts end before the release is sent (invariant: loss-is-final).
func (l *Lock) lose(now Time, g *Lease, why Why, ack Settler) {
	g.endAll(l.cfg.Stats, l.owners(), why)
	l.drop(now, g, ack)
}

// vanished handles a lease that is not in Redis any more, as the answer c says.
func (l *Lock) vanished(now Time, g *Lease, c *Command) {
	g.endAll(l.cfg.Stats, l.owners(), Lost)
	l.contest.acks.settle(Outcome{Why: Lost})
	l.forget(now, g)
	l.settleGrowths(now)
	sent := c.Sent
	if g.inLine { // a replica that took over without the release that gave the lock has the place still, and would give it to nobody
		g.Unsure, sent = max(g.Unsure, now), 0
	}
	l.trackOrphan(g, sent)
}

// forget records that nothing of a lease is in Redis any more.
func (l *Lock) forget(now Time, g *Lease) {
	g.phase = free
	l.contest.askFrom(now)
	l.contest.rivals.endStay()
}

// release sends the release of g, which is dead, or a Detach if the name stays taken. It forgets g when its TTL has surely run out in Redis
// and no command can reach it any more.
func (l *Lock) release(now Time, g *Lease, fx *Effects) {
	f := l.contest.queue.fair
	switch {
	case now >= g.Ends:
		l.contest.acks.settle(Outcome{Why: Doubtful})
		l.forget(now, g)
		if g.mayBeInLine() {
			l.trackOrphan(g, 0)
		}
		return
	case now < g.Next:
		return
	case f != nil:
		f.leaveReturning()
	}
	if stay := l.contest.rivals.stayFor(now); stay > 0 {
		l.send(l.ops(g.write).detach, g.ID, stay, fx)
		return
	}
	leaves := g.mayBeInLine()
	c := l.send(l.ops(g.write).releaseOp(leaves), g.ID, 0, fx)
	c.Args = l.releaseArgs(now, leaves, g.ID, "")
	if f != nil {
		l.addSuccessor(f, c)
	}
	if r := l.contest.rivals; r.state == subscribed {
		r.own = true
	}
}

// released handles the answer to the release of g. A fair release may have taken the lock for our next waiter, the head of the queue in
// Redis.
//
// A read-write lock with a downgrade that got no answer is released as a writer's. If Redis has no such owner, the downgrade ran.
func (l *Lock) released(now Time, g *Lease, c *Command, fx *Effects) {
	f := l.contest.queue.fair
	if f != nil && c.ran() && c.Reply == scripts.Passed {
		l.passedOn(f, now, c)
		return
	}
	gave, places := c.releaseReply()
	notMine := c.Result == Answered && c.Reply == scripts.NotMine
	if notMine && g.torn {
		g.torn, g.write, g.Next = false, false, now
		return
	}
	why, gone := g.released(c)
	if !gone {
		if f != nil && c.Result == Unknown { // it may have taken the lock for the successor
			f.unanswered(c.Sent)
		}
		l.unreleased(now, g, c)
		return
	}
	l.contest.acks.settle(Outcome{Why: why})
	l.forget(now, g)
	l.trackOrphan(g, c.Sent)
	switch {
	case notMine:
	case f != nil: // the head of the queue in Redis has its turn
		l.releasedToQueue(f, now, fx)
	case places > 0: // the first in line asks before this process does, also before a caller that comes at once
		r := l.ownRivals()
		r.endTurn(now, l.cfg.pauseInLine(l.traits().polls)+l.cfg.listenerPause())
		r.turns.peekAt = Never // the first in line looks
		if l.Kind == RWKind {
			// In line the next question of a writer leaves the lock to a reader that was told.
			r.inbox.subscribe(&l.Entry, l.cfg, fx)
		}
	case gave: // this process goes to the end of the line
		l.ownRivals().turns.began = 0
	default:
		l.endTurnIfOver(now, g, int64(c.Reply))
	}
}

// unreleased handles a release or a downgrade of g that proved nothing: it is sent again after a pause, until the TTL has surely run out.
// Callers that ask only once do not wait for that. The callers of Unlock get the answer now if a later one will be no better.
func (l *Lock) unreleased(now Time, g *Lease, c *Command) {
	out, pause := g.unreleased(c, &l.tries)
	g.Next = now + pause
	if out.final() {
		l.contest.acks.settle(out)
	}
	note(l.contest.acks.ack, out)
	l.contest.dismissTries(l.cfg, out, false)
	l.contest.note(l.cfg, out)
}

// releaseOrphan sends the release of an orphan that is due, or gives up places in the queue of a fair lock.
func (l *Lock) releaseOrphan(now Time, fx *Effects) {
	if f := l.contest.queue.fair; f != nil {
		l.leaveQueue(f, now, fx)
	}
	r := l.contest.rivals
	o := r.orphans.due(now)
	if l.flight != None || o == nil {
		return
	}
	l.send(o.op, o.id, 0, fx).Args = l.releaseArgs(now, o.inLine, o.id, o.owner)
	r.releasing = true
	l.askAgain()
}

// How a lease without holds passes to the next waiter of this process, without a new acquire.

// aheadAfter is the number of handoffs after which a confirmation is sent ahead of time, so that a busy name need not wait for it.
const aheadAfter = 4

// passOrDrop handles a lease without a hold. The next waiter gets it, at once if the lease is fresh, or after a script confirmed it. If
// there is no such waiter, the lease is dropped.
func (l *Lock) passOrDrop(now Time, g *Lease, fx *Effects) {
	q := &l.contest.queue
	if q.fair != nil || l.contest.rivals.stayFor(now) > 0 { // the queue in Redis decides, or the name stays taken
		l.drop(now, g, nil)
		return
	}
	for w := q.head; w != nil && l.fits(w, g) && g.fresh(now, l.cfg) && !l.contest.rivals.turns.mustEnd(now, g.ID, q.n); w = q.head {
		q.remove(w)
		w.Way = HandedOn
		if l.grant(now, w, g) {
			l.countHandoff(now, g)
			return
		}
	}
	switch w := q.head; {
	case w == nil || !l.fits(w, g) || !l.mayKeep(now):
		l.drop(now, g, nil)
	case l.flight == None: // else the answer to that command comes here again
		l.send(l.traits().write.confirm, g.ID, g.LeaseTime, fx)
	}
}

// fits reports whether w can have g as it stands in Redis (invariants: handoff-keeps-lease, readers-share-one-tenure), and whether a token is
// left.
func (l *Lock) fits(w *Waiter, g *Lease) bool {
	return g.write && !g.torn && w.Write && w.fits(&g.Tenure) && l.contest.rivals.tokens.any()
}

// confirmAhead confirms a lease that changes hands fast when half of its HandoffTime is over. A doubtful lease is not confirmed ahead: the
// command that made it doubtful failed, and is repeated after its pause.
func (l *Lock) confirmAhead(now Time, fx *Effects) {
	g, w := &l.lease, l.contest.queue.head
	if l.flight != None || w == nil || g.phase != ours || g.Doubt || g.handed < aheadAfter || !l.fits(w, g) || now-g.Confirmed < l.cfg.HandoffTime/2 || !l.mayKeep(now) {
		return
	}
	l.send(l.traits().write.confirm, g.ID, g.LeaseTime, fx)
}

// confirmed handles the answer to a confirmation: of a lease without a hold, of one that is handed on, or of one that readers want to join.
func (l *Lock) confirmed(now Time, g *Lease, c *Command, fx *Effects) {
	switch c.proves(0) {
	case standing:
		r, age := l.ownRivals(), g.Confirmed
		listeners, places := c.Reply.Waiting()
		r.turns.standing = places > 0
		r.turns.count(now, int64(listeners)-r.ownSubscriptions())
		l.tries = 0
		g.confirm(now, c, l.cfg)
		switch {
		case !g.write:
			l.confirmedForReaders(now, g, c, fx)
		case places > 0 || r.turns.over(now, g.ID):
			g.Confirmed = age // others wait: this lease is not handed on for longer
		}
	case absent:
		l.vanished(now, g, c)
	default:
		l.unrenewed(now, g, c)
		switch {
		case g.write && g.holds.first == nil: // without a hold it is better released than doubtful
			l.drop(now, g, nil)
		case g.write:
		case c.Result == Unknown || c.Result == UnderReplicated:
			l.contest.askedInVain(now, l.cfg, c.ID, l.askTries(), unprovedOutcome(c))
		default:
			l.contest.declined(now, l.cfg, c, l.askTries())
		}
	}
}

// mayKeep reports whether this process may confirm a lease that is not fresh any more, to hand it on.
func (l *Lock) mayKeep(now Time) bool {
	if l.cfg.HandoffTime <= 0 {
		return false
	}
	t := &l.ownRivals().turns
	t.begin(now)
	return !t.standing && !t.over(now, l.lease.ID)
}

// countHandoff counts a grant that asked nothing of Redis.
func (l *Lock) countHandoff(now Time, g *Lease) {
	g.handed = min(g.handed+1, aheadAfter)
	l.cfg.Stats.Handoffs.Inc()
	if l.traits().polls || l.contest.rivals != &noRivals {
		l.ownRivals().turns.countHandoff(now)
	}
}
