package gate

import "time"

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

// remainingLease is the lease that a renewal asks for: the watchdog's, or what fixed leases have left and a little more, so
// that the deadline that follows from it, a margin earlier, is not before their end.
func (g *rwLease) remainingLease(now Time) time.Duration {
	if g.Watch {
		return g.Lease
	}
	left := max(g.extent-now, 0)
	return (left + margin(left) + margin(left)/50 + 2*time.Millisecond).Truncate(time.Millisecond)
}

// renewAt is when to renew; Never: not by time alone.
func (g *rwLease) renewAt() Time {
	switch {
	case g.phase != ours || g.holds == nil || g.lowering():
		return Never
	case len(g.growing) > 0 && !g.Doubt:
		return 0
	case g.Watch || g.Doubt || len(g.growing) > 0 || g.Deadline < g.extent:
		return g.RenewAt
	default:
		return Never
	}
}

// confirm counts the tenure's lease anew. A longer one than the watchdog's does not last by itself among readers:
// Redisson's renewals of other readers lower the TTL of the lock that they share to that of the watchdog. So it is
// asserted again every third of that, and the deadline is never further away.
func (r *RW) confirm(now Time, g *rwLease, c *Command) {
	g.extent = max(g.extent, c.Sent+c.Lease-margin(c.Lease))
	sure := *c
	sure.Lease = g.counted(c.Lease, r.cfg)
	g.ownership.confirm(now, &sure)
	g.carried(now, c.Lease)
	if !g.Watch {
		g.RenewAt = c.Sent + r.cfg.Lease/3
	}
}

// counted is how much of a lease counts: of a reader's no more than the watchdog's.
func (g *rwLease) counted(lease time.Duration, cfg *Config) time.Duration {
	if g.write {
		return lease
	}
	return min(lease, cfg.Lease)
}

// renewed is the answer to a renewal.
func (r *RW) renewed(now Time, g *rwLease, c *Command) {
	switch c.proves(1) {
	case standing:
		r.tries = 0
		r.confirm(now, g, c)
		g.growing.grown(c, &g.ownership, func(w *Waiter) { r.growInto(now, g, w) })
		g.follow()
	case absent:
		r.gone(now, g, c)
	default:
		r.unrenewed(now, c, &g.ownership, &g.growing)
	}
}
