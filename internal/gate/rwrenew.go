package gate

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
