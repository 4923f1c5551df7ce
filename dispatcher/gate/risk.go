package gate

// Warned is an Ender with a holder that is told that the renewal of its hold is overdue, before the hold is lost (invariant: warned-once).
// It is when a renewal has come back without a confirmation and only half of the lease is left, or less.
type Warned interface {
	Ender
	// Risk tells why it is overdue; Granted: it was renewed after all. It does not block.
	Risk(why Outcome)
}

// half is when half of the lease is left.
func (t *Tenure) half() Time { return t.Deadline - t.Lease/2 }

// warnOverdue tells the watched holds if their renewal is overdue: c has confirmed nothing.
func (l *Lease) warnOverdue(now Time, c *Command, stats *Stats) {
	if now >= l.half() {
		l.warn(stats, unprovedOutcome(c))
	}
}

// warn tells the watched holds, unless they know, that they are at risk because of why, or, if that is Granted, no more.
func (l *Lease) warn(stats *Stats, why Outcome) {
	if l.atRisk == (why.Why != Granted) {
		return
	}
	l.atRisk = !l.atRisk
	for h := l.holds; h != nil; h = h.next {
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
