package gate

// A growth is a re-entry or an extension that needs a longer lease than there is: it is granted only after a renewal was answered (invariant:
// hold-within-tenure). It is a Waiter: a re-entry as it asked; an extension with the hold that it extends, the lease that counts from Since, and
// its caller, who may be nobody. A renewal that proves nothing is repeated, and answers nobody but a re-entry that asks once: an extension is
// answered when it is sure, or when the hold has ended. The same is true of extensions of permits (permitsrenew.go).

// settleRenewed grants what the renewal c of g made possible.
func (l *Lock) settleRenewed(now Time, g *Lease, c *Command) {
	for _, w := range l.contest.rivals.growing.take(func(w *Waiter) bool { return w.takes(w.LeaseTime) <= c.LeaseTime && (w.asked || c.Sent >= w.Since) }) {
		switch {
		case w.asked:
			l.growInto(now, g, w)
		case w.Hold.alive:
			g.extend(w.Hold, c.Sent+w.LeaseTime-margin(w.LeaseTime))
			settle(w.By, Outcome{})
		default:
			settle(w.By, Outcome{Why: w.Hold.why})
		}
	}
}

// settleGrowths settles those of a lease that has ended: extensions are lost, re-entries are requests like any other.
func (l *Lock) settleGrowths(now Time) {
	for _, w := range l.contest.rivals.growing.take(everyone) {
		if w.asked {
			l.requeue(now, w)
		} else {
			settle(w.By, Outcome{Why: w.Hold.why})
		}
	}
}
