package gate

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
	for w := q.head; w != nil && l.fits(w, g) && g.fresh(now, l.cfg) && !l.contest.rivals.turns.mustEnd(now, g.ID, l.contest.queue.n); w = q.head {
		q.remove(w)
		w.HandedOn = true
		if l.admitOne(now, w, g) {
			l.countHandoff(now, g)
			l.confirmAhead(now, fx)
			return
		}
	}
	switch w := q.head; {
	case w == nil || !l.fits(w, g) || !l.mayKeep(now):
		l.drop(now, g, nil)
	case l.flight == None: // else the answer to that command comes here again
		l.send(l.ops(true).confirm, g.ID, g.Lease, fx)
	}
}

// fits reports whether w can have g as it stands in Redis (invariants: handoff-keeps-lease, readers-share-one-tenure), and whether a token is
// left.
func (l *Lock) fits(w *Waiter, g *Lease) bool {
	return g.write && !g.torn && w.Write && w.fits(&g.Tenure) && (!l.traits().fenced || l.contest.rivals.tokens.any())
}

// confirmAhead confirms a lease that changes hands fast when half of its HandoffTime is over. A doubtful lease is not confirmed ahead: the
// command that made it doubtful failed, and is repeated after its pause.
func (l *Lock) confirmAhead(now Time, fx *Effects) {
	g, w := &l.lease, l.contest.queue.head
	if l.flight != None || w == nil || g.phase != ours || g.Doubt || g.handed < aheadAfter || !w.Write || !w.fits(&g.Tenure) || now-g.Confirmed < l.cfg.HandoffTime/2 || !l.mayKeep(now) {
		return
	}
	l.send(l.ops(true).confirm, g.ID, g.Lease, fx)
}

// confirmed handles the answer to a confirmation: of a lease without a hold, of one that is handed on, or of one that readers want to join.
func (l *Lock) confirmed(now Time, g *Lease, c *Command, fx *Effects) {
	switch c.proves(0) {
	case standing:
		r, age := l.ownRivals(), g.Confirmed
		listeners, places := c.Reply.Waiting()
		r.turns.standing = places > 0
		r.turns.count(now, max(int64(listeners)-r.ownSubscriptions(), 0))
		l.tries = 0
		g.confirm(now, c, l.cfg)
		g.follow()
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
		case g.write && g.holds == nil: // without a hold it is better released than doubtful
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
