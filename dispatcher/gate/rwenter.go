package gate

import "slices"

// grant makes w a holder. False: its caller had gone. Either way w is not the loop's any more.
func (r *rwHolds) grant(now Time, w *Waiter, g *rwLease) bool {
	h, owner := w.hold(), w.Owner
	h.holdCount = r.owners.holdCount(owner, w.Write)
	if !r.lock.grant(now, w, &g.ownership, g.extent) { // which may be later than the deadline as it is now
		r.owners.left(owner)
		return false
	}
	if h.write {
		g.writes++
	}
	if r.queue.tries > 0 {
		r.turnAwayTries(r.ttl(now), owner, h.write)
	}
	return true
}

// join lets a reader in beside those that read already, without asking Redis. True: w is settled.
func (r *rwHolds) join(now Time, w *Waiter) bool {
	for _, g := range r.leases {
		if g.joinable(now, r.cfg) && g.lasts(now, w) {
			w.HandedOn = true
			if r.grant(now, w, g) {
				r.cfg.Stats.Handoffs.Inc()
				r.readmit(now)
			}
			return true
		}
	}
	return false
}

// closeUp lets in the readers at the head of the queue that may join: a writer before them has gone.
func (r *rwHolds) closeUp(now Time) {
	for w := r.queue.head; w != nil && !w.Write; w = r.queue.head {
		i := slices.IndexFunc(r.leases, func(g *rwLease) bool { return g.joinable(now, r.cfg) && g.lasts(now, w) })
		if i < 0 {
			break
		}
		r.queue.remove(w)
		w.HandedOn = true
		if r.grant(now, w, r.leases[i]) {
			r.cfg.Stats.Handoffs.Inc()
		}
	}
	r.readmit(now)
}

// admit lets in the waiters that g was asked for with this lease, straight from the answer: one writer, or the
// readers at the head of the queue.
func (r *rwHolds) admit(now Time, g *rwLease, c *Command) {
	for w := r.queue.head; w != nil && w.Write == g.write && g.covers(w, c); w = r.queue.head {
		if w.Watch && !g.Watch {
			g.watch(w.Lease, c.Sent)
		}
		r.queue.remove(w)
		if r.grant(now, w, g) && g.write {
			break
		}
	}
	r.readmit(now)
}

// readmit lets in what Owners that are in have queued besides (rule 5).
func (r *rwHolds) readmit(now Time) {
	if r.queue.owned == 0 || len(r.owners) == 0 {
		return
	}
	var in []*Waiter // out of the queue before the first is let in, which turns others away
	for w := r.queue.head; w != nil; {
		next := w.next
		if w.Owner != 0 && r.owners[w.Owner] != nil {
			r.queue.remove(w)
			in = append(in, w)
		}
		w = next
	}
	for _, w := range in {
		r.reenter(now, w)
	}
}

// reenter deals with a caller if its Owner has a living hold (rule 5). False: it has none. A reader that wants to
// write would wait for itself, and is told so.
func (r *rwHolds) reenter(now Time, w *Waiter) bool {
	p := r.owners[w.Owner]
	if p == nil {
		return false
	}
	if w.Write && p.writes.count() == 0 {
		r.cfg.Answer(w, Outcome{Why: Deadlock})
		return true
	}
	for _, g := range r.leases {
		if g.phase != ours || g.write && !g.lowering() && p.writes.count() == 0 {
			continue
		}
		if g.lasts(now, w) {
			w.Reentry = true
			r.grant(now, w, g)
			return true
		}
		if p.writes.count() > 0 {
			g.growing.add(growth{w: w, lease: w.Lease})
			if w.Try { // it does not wait for the end of a pause
				g.RenewAt = min(g.RenewAt, now)
			}
			return true
		}
	}
	if w.Try {
		r.askAt = min(r.askAt, now)
	}
	r.queue.pushFront(w)
	return true
}

// growInto grants a re-entry after the renewal it waited for, or queues it when its Owner writes no more.
func (r *rwHolds) growInto(now Time, g *rwLease, w *Waiter) {
	if p := r.owners[w.Owner]; p == nil || p.writes.count() == 0 {
		r.requeue(now, w)
		return
	}
	if w.Watch && !g.Watch {
		g.Stretched = true
		g.watch(w.Lease, g.Confirmed)
	}
	w.Reentry = true
	r.grant(now, w, g)
}
