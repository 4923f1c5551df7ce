package gate

// Warned is an Ender that is told when the renewal of its hold is overdue, before the hold is lost (invariant: warned-once). A renewal is
// overdue if it has come back without a confirmation and at most half of the lease is left or, of permits, if it has not left and a third is left.
type Warned interface {
	Ender
	// Risk passes the reason; Granted: the hold was renewed after all. It does not block.
	Risk(why Outcome)
}

// half is when half of the lease is left.
func (t *Tenure) half() Time { return t.Deadline - t.LeaseTime/2 }

// warnOverdue warns the watched holds if their renewal is overdue, after c has confirmed nothing.
func (l *Lease) warnOverdue(now Time, c *Command, stats *Stats) {
	if now >= l.half() {
		l.warn(stats, unprovedOutcome(c))
	}
}

// warn tells the watched holds once that they are at risk because of why, or, if that is Granted, that they are not any more.
func (l *Lease) warn(stats *Stats, why Outcome) {
	if l.atRisk == (why.Why != Granted) {
		return
	}
	l.atRisk = !l.atRisk
	for h := range l.holds.all() {
		if h.watch {
			h.warn(stats, why)
		}
	}
}

func (h *Hold) warn(stats *Stats, why Outcome) {
	if why.Why == Granted {
		stats.AtRisk.Dec()
	} else {
		stats.AtRisk.Inc()
	}
	if by, is := h.By.(Warned); is {
		by.Risk(why)
	}
}
