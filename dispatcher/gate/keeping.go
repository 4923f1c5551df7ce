package gate

import (
	"time"

	"github.com/wheellock/wheellock/scripts"
)

// renew sends the renewal or the downgrade of g that is due: the watchdog's, one that somebody waits for, or one that only looks whether
// the lease is there.
func (l *Lock) renew(now Time, g *Lease, fx *Effects) {
	longer, growing := l.contest.rivals.growing.lease(g)
	switch {
	case now < g.renewAt(growing):
	case g.lowering():
		g.torn = true // until the answer says what is
		l.send(Downgrade, g.ID, l.keepLease(now, g), fx)
	default:
		l.send(l.ops(g.write).renew, g.ID, max(longer, l.keepLease(now, g)), fx)
	}
}

// keepLease is the lease that a renewal asks for: the watchdog's; of a mutex with a fixed lease the shortest, for a script never lowers a
// TTL; else what fixed leases have left and a little more, so that the deadline that follows from it, a margin earlier, is not before
// their end.
func (l *Lock) keepLease(now Time, g *Lease) time.Duration {
	switch {
	case g.Watch:
		return g.Lease
	case l.contest.rw == nil:
		return time.Millisecond
	}
	left := max(g.extent-now, 0)
	return (left + margin(left) + margin(left)/50 + 2*time.Millisecond).Truncate(time.Millisecond)
}

// renewed is the answer to a renewal.
func (l *Lock) renewed(now Time, g *Lease, c *Command) {
	switch c.proves(1) {
	case standing:
		l.tries = 0
		g.confirm(now, c, l.cfg)
		l.contest.rivals.growing.grown(c, g, func(w *Waiter) { l.growInto(now, g, w) })
		g.follow()
	case absent:
		l.gone(now, g, c)
	default:
		l.unrenewed(now, g, c)
	}
}

// unrenewed is a renewal of g that proved nothing.
func (l *Lock) unrenewed(now Time, g *Lease, c *Command) {
	g.doubt(now, c, &l.tries)
	g.inDanger(now, c, l.cfg.Stats)
	l.contest.rivals.growing.turnAway(l.cfg, g, unprovedOutcome(c), triesOnce)
}

// drop frees a lease of which no hold is left. ack waits for the answer.
func (l *Lock) drop(now Time, g *Lease, ack Settler) {
	l.addAck(g, ack)
	g.phase, g.Next = dead, now
	l.contest.rivals.endClaim(g.ID)
	if f := l.contest.queue.fair; f != nil {
		l.askFrom(now) // when the release is answered
		f.takenInVain(l, now, g.ID)
	}
	l.contest.rivals.growing.abort(g, func(w *Waiter) { l.requeue(now, w) })
}

// lose ends all holds of a lease and frees it. Their contexts end before the release is sent (rule 3).
func (l *Lock) lose(now Time, g *Lease, why Why, ack Settler) {
	l.endAll(g, why)
	l.drop(now, g, ack)
}

// endAll ends all holds of a lease and tells their holders.
func (l *Lock) endAll(g *Lease, why Why) {
	g.endAll(l.cfg.Stats, why)
	if rw := l.contest.rw; rw != nil {
		rw.owners.sweep()
	}
}

// gone is a lease that is not in Redis any more, as Redis says in answer to c.
func (l *Lock) gone(now Time, g *Lease, c *Command) {
	l.endAll(g, Lost)
	l.acks(g).acknowledge(Outcome{Why: Lost})
	l.forget(now, g)
	l.contest.rivals.growing.abort(g, func(w *Waiter) { l.requeue(now, w) })
	l.orphaned(g, c.Sent)
}

// forget notes that nothing of a lease is in Redis any more.
func (l *Lock) forget(now Time, g *Lease) {
	g.phase = free
	l.askFrom(now)
	l.contest.rivals.stayNoLonger()
}

// free sends the release of g that is dead, or the command by which the name stays taken; or it forgets it: when no command can reach it
// and its lease has surely run out in Redis.
func (l *Lock) free(now Time, g *Lease, fx *Effects) {
	f := l.contest.queue.fair
	switch {
	case now >= g.Ends:
		l.acks(g).acknowledge(Outcome{Why: Doubtful})
		l.forget(now, g)
		return
	case now < g.Next:
		return
	case f != nil:
		f.returned()
	}
	l.again = false
	if stay := l.contest.rivals.stayFor(now); stay > 0 {
		l.send(Detach, g.ID, stay, fx)
		return
	}
	c := l.send(l.releaseOp(g.ID, g.write), g.ID, 0, fx)
	c.Args = l.contest.rivals.releaseArgs(c.Op, "")
	if f != nil {
		f.successor(l, c)
	}
}

// released is the answer to the release of g. It may have taken the lock for our next waiter, the head of the queue in Redis.
//
// A read-write lock of which a downgrade got no answer is released as a writer's. If Redis does not have that, the downgrade ran.
func (l *Lock) released(now Time, g *Lease, c *Command, fx *Effects) {
	f := l.contest.queue.fair
	if c.ran() && c.Reply == scripts.Passed {
		f.passedOn(l, now, c)
		return
	}
	given := c.given()
	heard := l.heardBy(c)
	notMine := c.Result == Answered && c.Reply == scripts.NotMine
	if notMine && g.torn {
		g.torn, g.write, g.Next = false, false, now
		return
	}
	why, gone := g.released(c)
	if !gone {
		if f != nil && c.Result == Unknown { // it may have taken the lock for the successor
			f.unsure(c.Sent)
		}
		l.unreleased(now, g, c)
		return
	}
	l.acks(g).acknowledge(Outcome{Why: why})
	l.forget(now, g)
	l.orphaned(g, c.Sent)
	switch {
	case notMine:
	case f != nil: // a fair lock is left to the head of the queue in Redis
		f.outOfTurn(l, now, fx)
	case !given: // else we have our turn when it is that of our claim
		l.askFrom(now + l.pause(now, g.ID, heard))
	}
}

// unreleased is a release of g, or a downgrade, that proved nothing: it is sent again after a pause, until the lease has surely run out.
// A caller that asks only once does not wait for that; the caller of Unlock hears of it if it is no use to wait.
func (l *Lock) unreleased(now Time, g *Lease, c *Command) {
	out, pause := g.unreleased(c, &l.tries)
	g.Next = now + pause
	if out.final() {
		l.acks(g).acknowledge(out)
	}
	l.contest.turnAway(l.cfg, out, triesOnce)
	l.contest.note(l.cfg, out)
}

// releaseOrphan sends the release of an orphan that is due, or gives up places in the queue of a fair lock.
func (l *Lock) releaseOrphan(now Time, fx *Effects) bool {
	if f := l.contest.queue.fair; f != nil && f.leaveQueue(l, now, fx) {
		return true
	}
	r := l.contest.rivals
	o := r.orphans.due(now)
	if o == nil {
		return false
	}
	l.send(o.op, o.id, 0, fx).Args = r.releaseArgs(o.op, o.owner)
	r.releasing = true
	l.again = l.contest.queue.head != nil
	return true
}

// heardBy is how many others heard the message of a release.
func (l *Lock) heardBy(c *Command) int32 {
	r := l.contest.rivals
	if r == &noRivals {
		return int32(max(c.Reply, 0))
	}
	others, sure := r.heardBy(c.Reply)
	l.again = l.again || !sure && l.contest.queue.head != nil
	return others
}
