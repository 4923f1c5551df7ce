package gate

import "time"

// aheadAfter handoffs a confirmation is sent ahead of time, so that a busy name need not wait for it.
const aheadAfter = 4

// passOrDrop says what becomes of a lease that nobody holds: the next waiter gets it at once if it is fresh, or after one script confirmed it;
// else it is freed.
func (l *Lock) passOrDrop(now Time, g *Lease, fx *Effects) {
	q := &l.contest.queue
	if q.fair != nil || l.contest.rivals.stayFor(now) > 0 { // the queue in Redis decides, or nobody is to have it
		l.drop(now, g, nil)
		return
	}
	for w := q.head; w != nil && l.fits(w, g) && g.fresh(now, l.cfg) && !l.turnOver(now); w = q.head {
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
	case l.flight == None: // else its answer decides
		l.send(l.ops(true).confirm, g.ID, g.Lease, fx)
	}
}

// fits reports whether w can have g as it stands in Redis (rules 1 and 20), as far as tokens go.
func (l *Lock) fits(w *Waiter, g *Lease) bool {
	return g.write && !g.torn && w.Write && w.fits(&g.Tenure) && (!l.traits().fenced || l.contest.rivals.tokens.any())
}

// confirmAhead confirms a tenure that changes hands fast when half of its HandoffTime is over. A doubtful tenure is not
// confirmed ahead: the command that made it doubtful came back in vain, and is repeated when its pause is over.
func (l *Lock) confirmAhead(now Time, fx *Effects) {
	g, w := &l.lease, l.contest.queue.head
	if l.flight != None || w == nil || g.phase != ours || g.Doubt || g.handed < aheadAfter || !w.Write || !w.fits(&g.Tenure) || now-g.Confirmed < l.cfg.HandoffTime/2 || !l.mayKeep(now) {
		return
	}
	l.send(l.ops(true).confirm, g.ID, g.Lease, fx)
}

// confirmed is the answer to a confirmation: of a lease that nobody holds or is handed on, or of one that readers want to join.
func (l *Lock) confirmed(now Time, g *Lease, c *Command, fx *Effects) {
	switch c.proves(0) {
	case standing:
		r, age := l.ownRivals(), g.Confirmed
		r.outside = max(int32(c.Reply)-int32(r.ownSubscriptions()), 0)
		l.tries = 0
		g.confirm(now, c, l.cfg)
		g.follow()
		switch {
		case !g.write:
			l.confirmedForReaders(now, g, c, fx)
		case r.outside > 0 && now >= r.yieldFree:
			g.Confirmed = age // others wait: this tenure is not handed on for longer
		}
	case absent:
		l.vanished(now, g, c)
	default:
		l.unrenewed(now, g, c)
		switch {
		case g.write && g.holds == nil: // nobody holds it: better freed than doubtful
			l.drop(now, g, nil)
		case g.write:
		case c.Result == Unknown || c.Result == UnderReplicated:
			l.contest.askedInVain(now, l.cfg, c.ID, l.askTries(), unprovedOutcome(c))
		default:
			l.contest.declined(now, l.cfg, c, l.askTries())
		}
	}
}

// mayKeep reports whether this process may keep the name for its next waiter after the tenure has aged.
func (l *Lock) mayKeep(now Time) bool {
	return l.cfg.HandoffTime > 0 && l.ownRivals().keeps(now, l.traits().polls, l.cfg) && !l.turnOver(now)
}

// turnOver reports whether it is the turn of others, which have shown that they want the name.
func (l *Lock) turnOver(now Time) bool {
	return l.contest.rivals.turnOver(now, l.contest.queue.n+1, l.traits().polls, l.cfg)
}

// countHandoff counts a grant without asking Redis.
func (l *Lock) countHandoff(now Time, g *Lease) {
	g.handed = min(g.handed+1, aheadAfter)
	l.cfg.Stats.Handoffs.Inc()
	if l.traits().polls {
		l.ownRivals().turns.countHandoff(now)
	} else if r := l.contest.rivals; r != &noRivals {
		r.yielding.handed++
	}
}

// pause is how long a name that was freed is left to others, of which so many heard that it was.
func (l *Lock) pause(now Time, seed uint64, listeners int32) time.Duration {
	n := l.contest.queue.n
	if l.traits().polls {
		return l.contest.rivals.pausePolling(now, n, seed, l.cfg)
	}
	return l.contest.rivals.pause(now, listeners, n, l.cfg)
}
