package gate

// decide says what becomes of a tenure that nobody holds. A writer's goes to the next waiter if that is a writer
// too, at once if it is fresh, or after one script confirmed it; else it is freed.
func (r *RW) decide(now Time, g *rwLease, fx *Effects) {
	for w := r.queue.head; w != nil && g.fresh(now, w, r.cfg); w = r.queue.head {
		r.queue.remove(w)
		w.HandedOn = true
		if r.grant(now, w, g) {
			r.cfg.Stats.Handoffs.Inc()
			r.readmit(now)
			return
		}
	}
	w := r.queue.head
	switch {
	case w == nil || !g.write || g.torn || !w.Write || !w.fits(&g.Tenure) || r.cfg.HandoffTime <= 0 || !r.contention.keeps(now, false, r.cfg):
		r.drop(now, g, nil)
	case r.flight == None:
		r.send(ConfirmWrite, g, g.Lease, fx)
	}
}
