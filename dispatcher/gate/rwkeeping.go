package gate

import "github.com/wheellock/wheellock/scripts"

// renew sends the renewal or the downgrade that is due.
func (r *RW) renew(now Time, fx *Effects) bool {
	for _, g := range r.leases {
		if g.lowering() && now >= g.askAt {
			g.torn = true // until the answer says what is
			r.send(Downgrade, g, g.remainingLease(now), fx)
			return true
		}
		if now >= g.renewAt() {
			lease, _ := g.growing.lease()
			op := RenewRead
			if g.write {
				op = RenewWrite
			}
			r.send(op, g, max(lease, g.remainingLease(now)), fx)
			return true
		}
	}
	return false
}

// renewed is the answer to a renewal.
func (r *rwHolds) renewed(now Time, g *rwLease, c *Command) {
	switch c.proves(1) {
	case standing:
		r.tries = 0
		g.confirm(now, c, r.cfg)
		g.growing.grown(c, &g.ownership, func(w *Waiter) { r.growInto(now, g, w) })
		g.follow()
	case absent:
		r.gone(now, g, c)
	default:
		r.unrenewed(now, c, &g.ownership, &g.growing)
	}
}

// suspectAt has Redis asked at that time at the latest.
func (r *RW) suspectAt(now, at Time) {
	r.suspected = r.flight != None
	at = max(now, at)
	for _, g := range r.leases {
		if g.phase == ours {
			g.suspect(at)
			g.askAt = min(g.askAt, at)
		}
	}
}

// heard is a hint that the lock was freed, and that what we have of it is not there.
func (r *RW) heard(now Time) {
	if len(r.leases) > 0 {
		r.contention.found(now, false)
	}
	r.hinted(now)
	r.suspectAt(now, r.contention.heedAt)
}

// reconnected has the tenures verified and the waiters ask again.
func (r *RW) reconnected(now Time) {
	r.asks = 0
	for _, g := range r.leases {
		g.askAt = min(g.askAt, now)
	}
	r.askAgain()
	r.suspectAt(now, now)
}

// lowered is the answer to a downgrade: the writer is a reader now, and others may read beside it. It may have ended
// altogether meanwhile; then it is released as what it is.
func (r *RW) lowered(now Time, g *rwLease, c *Command) {
	r.heardBy(c)
	switch {
	case c.ran() && freed(c.Reply):
		g.write, g.torn = false, false
		if g.phase != ours {
			return
		}
		g.acknowledge(Outcome{})
		if c.Result == UnderReplicated {
			// Where the downgrade is not known, the keys run out when they would have.
			g.Deadline = min(g.Deadline, c.Sent+c.Lease-margin(c.Lease))
			g.follow()
			r.unrenewed(now, c, &g.ownership, &g.growing)
			return
		}
		g.Deadline = 0 // a reader's may be nearer
		g.confirm(now, c, r.cfg)
		g.follow()
		g.joinBy = c.Sent + r.cfg.HandoffTime
		r.closeUp(now)
	case c.Result == Answered && c.Reply == scripts.NotMine && g.phase == ours:
		r.gone(now, g, c)
	case g.phase == ours:
		g.Doubt = true
		g.askAt = now + r.unreleased(c, &g.ownership, &g.pendingAck)
		g.inDanger(now, c, r.cfg.Stats)
	}
}

// free sends the release that is due, and forgets what has run out.
func (r *RW) free(now Time, fx *Effects) bool {
	for i := 0; i < len(r.leases); {
		switch g := r.leases[i]; {
		case g.phase != dead || now < g.askAt:
			i++
		case now >= g.Ends: // no command can reach it, and its lease has surely run out in Redis
			g.acknowledge(Outcome{Why: Doubtful})
			r.leases.remove(g)
			r.askAt = now
		default:
			r.send(releaseOf(g.write), g, 0, fx)
			return true
		}
	}
	return false
}

// released is the answer to the release of a tenure.
func (r *RW) released(now Time, g *rwLease, c *Command) {
	heard := r.heardBy(c)
	if c.Result == Answered && c.Reply == scripts.NotMine && g.torn {
		g.torn, g.write, g.askAt = false, false, now // the downgrade ran: it is to be freed as a reader
		return
	}
	why, gone := g.released(c)
	if !gone {
		g.askAt = now + r.unreleased(c, &g.ownership, &g.pendingAck)
		return
	}
	g.acknowledge(Outcome{Why: why})
	r.leases.remove(g)
	r.orphaned(&g.ownership, c.Sent, releaseOf(g.writer))
	r.askAt = now
	if c.Reply != scripts.NotMine && r.queue.head != nil {
		r.askAt += r.contention.yielding.pause(now, heard, r.cfg)
	}
}
