package gate

import "slices"

// ownerHolds is the living holds of one Owner.
type ownerHolds struct{ reads, writes holdCount }

func (p *ownerHolds) of(write bool) *holdCount {
	if write {
		return &p.writes
	}
	return &p.reads
}

// holdCount is that of an Owner's next hold.
func (r *RW) holdCount(owner uint64, write bool) *holdCount {
	if owner == 0 {
		return nil
	}
	p := r.owners[owner]
	if p == nil {
		p = &ownerHolds{reads: holdCount{owner: owner}, writes: holdCount{owner: owner}}
		if r.owners == nil {
			r.owners = make(map[uint64]*ownerHolds)
		}
		r.owners[owner] = p
	}
	return p.of(write)
}

// left forgets an Owner that holds nothing any more.
func (r *RW) left(owner uint64) {
	if p := r.owners[owner]; p != nil && p.reads.count() == 0 && p.writes.count() == 0 {
		delete(r.owners, owner)
	}
}

// ended counts again after holds of g have ended by time or loss.
func (r *RW) ended(g *rwLease) {
	for owner := range r.owners {
		r.left(owner)
	}
	g.writes = 0
	for h := g.holds; h != nil && g.write; h = h.next {
		if h.write {
			g.writes++
		}
	}
}

// grant makes w a holder. False: its caller had gone. Either way w is not the loop's any more.
func (r *RW) grant(now Time, w *Waiter, g *rwLease) bool {
	h, owner := w.hold(), w.Owner
	h.holdCount = r.holdCount(owner, w.Write)
	h.begin(now, w, &g.Tenure, r.cfg)
	if !w.Watch { // which may be later than the deadline as it is now
		h.until = min(now+w.Lease-margin(w.Lease), g.extent)
		h.follow(&g.Tenure)
	}
	if !r.cfg.Answer(w, Outcome{}) {
		h.end()
		r.left(owner)
		return false
	}
	g.add(h)
	if h.write {
		g.writes++
	}
	r.cfg.Stats.granted()
	if r.queue.tries > 0 {
		r.turnAwayTries(r.ttl(now), owner, h.write)
	}
	return true
}

// join lets a reader in beside those who read already, without asking Redis. True: w is settled.
func (r *RW) join(now Time, w *Waiter) bool {
	for _, g := range r.leases {
		if g.joinable(now, r.cfg) && g.lasts(now, w) {
			if r.grant(now, w, g) {
				r.cfg.Stats.Handoffs.Inc()
				r.readmit(now)
			}
			return true
		}
	}
	return false
}

// joinable is rule 8 for readers: they may join for a while after the tenure was taken. A renewal adds nothing:
// an outside writer must get its turn.
func (g *rwLease) joinable(now Time, cfg *Config) bool {
	return g.phase == ours && !g.write && now < g.joinBy && now < g.Deadline && !g.Doubt && g.Epoch == cfg.Epoch
}

// lasts reports whether the tenure lasts as long as w needs it.
func (g *rwLease) lasts(now Time, w *Waiter) bool {
	if w.Watch {
		return g.Watch && w.Lease <= g.Lease
	}
	return now+w.Lease-margin(w.Lease) <= g.extent
}

// closeUp lets in the readers at the head of the queue who may join: a writer before them has gone.
func (r *RW) closeUp(now Time) {
	for w := r.queue.head; w != nil && !w.Write; w = r.queue.head {
		i := slices.IndexFunc(r.leases, func(g *rwLease) bool { return g.joinable(now, r.cfg) && g.lasts(now, w) })
		if i < 0 {
			break
		}
		r.queue.remove(w)
		if r.grant(now, w, r.leases[i]) {
			r.cfg.Stats.Handoffs.Inc()
		}
	}
	r.readmit(now)
}

// admit lets in those for whom g was asked for with this lease, straight from the answer: one writer, or the
// readers at the head of the queue.
func (r *RW) admit(now Time, g *rwLease, c *Command) {
	for w := r.queue.head; w != nil && w.Write == g.write && g.covers(w, c); w = r.queue.head {
		if w.Watch && !g.Watch {
			g.Watch, g.Lease = true, w.Lease
			g.RenewAt = c.Sent + w.Lease/3
		}
		r.queue.remove(w)
		if r.grant(now, w, g) && g.write {
			break
		}
	}
	r.readmit(now)
}

func (g *rwLease) covers(w *Waiter, c *Command) bool {
	if g.write {
		return w.Watch == g.Watch && w.Lease == g.Lease
	}
	return w.Lease <= c.Lease
}

// readmit lets in what Owners that are in have queued besides (rule 5).
func (r *RW) readmit(now Time) {
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

// reenter deals with a caller whose Owner has a living hold (rule 5). False: it has none. A reader that wants to
// write would wait for itself, and is told so.
func (r *RW) reenter(now Time, w *Waiter) bool {
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
func (r *RW) growInto(now Time, g *rwLease, w *Waiter) {
	if p := r.owners[w.Owner]; p == nil || p.writes.count() == 0 {
		r.requeue(now, w)
		return
	}
	if w.Watch && !g.Watch {
		g.Watch, g.Lease = true, w.Lease
		g.Stretched = true
		g.RenewAt = g.Confirmed + w.Lease/3
	}
	r.grant(now, w, g)
}

// Extend prolongs a hold with a fixed lease to now + lease; never shorter.
func (r *RW) Extend(now Time, h *Hold, lease Time, ack Settler, fx *Effects) {
	r.tick(now)
	g := r.leaseOf(h)
	switch until := now + lease - margin(lease); {
	case g == nil:
		settle(ack, Outcome{Why: h.why})
	case until <= g.extent:
		h.until = max(h.until, until)
		h.follow(&g.Tenure)
		settle(ack, Outcome{})
	default:
		g.growing.add(growth{h: h, lease: lease, since: now, ack: ack})
	}
	r.pump(now, fx)
}

// leaseOf is the tenure of a living hold; nil: it has ended.
func (r *RW) leaseOf(h *Hold) *rwLease {
	if !h.alive {
		return nil
	}
	i := slices.IndexFunc(r.leases, func(g *rwLease) bool { return g.phase == ours && g.ID == h.Tenure })
	if i < 0 {
		return nil
	}
	return r.leases[i]
}
