package gate

import "time"

// confirm counts the lease of g anew. A longer one than the watchdog's does not last by itself among readers: Redisson's renewals of
// other readers lower the TTL of the lock that they share to that of the watchdog. So it is asserted again every third of that, and the
// deadline is never further away. A renewal does not let readers join for longer: an outside writer must get its turn.
func (l *Lock) confirm(now Time, g *Lease, c *Command) {
	joinable := g.Confirmed
	g.extent = max(g.extent, c.Sent+c.Lease-margin(c.Lease))
	g.confirm(now, c, l.counted(g, c.Lease), l.cfg.Stats)
	if l.contest.rw != nil && !g.Watch {
		g.Next = c.Sent + l.cfg.Lease/3
	}
	if !g.write {
		g.Confirmed = joinable
	}
}

// counted is how much of a lease counts: of a reader's no more than the watchdog's.
func (l *Lock) counted(g *Lease, lease time.Duration) time.Duration {
	if g.write {
		return lease
	}
	return min(lease, l.cfg.Lease)
}

// renew sends the renewal or the downgrade that is due: the watchdog's, one that somebody waits for, or one that only looks whether the
// lease is there.
func (l *Lock) renew(now Time, fx *Effects) bool {
	for g := l.first(); g != nil; g = l.after(g) {
		longer, growing := l.contest.rivals.growing.lease(g)
		if now < g.renewAt(growing) {
			continue
		}
		if g.lowering() {
			g.torn = true // until the answer says what is
			l.send(Downgrade, g.ID, l.keepLease(now, g), fx)
		} else {
			l.send(l.ops(g.write).renew, g.ID, max(longer, l.keepLease(now, g)), fx)
		}
		return true
	}
	return false
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
		l.confirm(now, g, c)
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
