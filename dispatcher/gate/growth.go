package gate

// A growth is a re-entry or an extension that needs a longer lease than there is: it is granted only after a renewal was answered (invariant:
// hold-within-tenure). It is a Waiter: a re-entry as it asked; an extension with the hold that it extends, the lease that counts from Since, and
// its caller, who may be nobody.

// growths are those that wait for a renewal of this lease.
func (l *Lock) growths(of *Lease) *chain {
	if rw := l.contest.rw; rw != nil && of == &rw.second {
		return &rw.growing
	}
	return &l.contest.rivals.growing
}

// grow has w wait for a renewal of g.
func (l *Lock) grow(w *Waiter, g *Lease) {
	l.ownRivals()
	w.place = g.ID
	l.growths(g).push(w)
}

// settleRenewed grants what the renewal c of g made possible.
func (l *Lock) settleRenewed(now Time, g *Lease, c *Command) {
	for _, w := range l.growths(g).take(func(w *Waiter) bool { return w.takes(w.Lease) <= c.Lease && (w.asked || c.Sent >= w.Since) }) {
		switch {
		case w.asked:
			l.growInto(now, g, w)
		case w.Hold.alive:
			g.extend(w.Hold, c.Sent+w.Lease-margin(w.Lease))
			settle(w.By, Outcome{})
		default:
			settle(w.By, Outcome{Why: w.Hold.why})
		}
	}
}

// settleGrowths settles those of g, which has ended: extensions are lost, re-entries are requests like any other.
func (l *Lock) settleGrowths(now Time, g *Lease) {
	for _, w := range l.growths(g).take(everyone) {
		if w.asked {
			l.requeue(now, w)
		} else {
			settle(w.By, Outcome{Why: w.Hold.why})
		}
	}
}
