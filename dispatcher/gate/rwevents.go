package gate

// Ask is a caller that wants in.
func (r *RW) Ask(now Time, w *Waiter, fx *Effects) {
	r.tick(now)
	switch {
	case w.Owner != 0 && r.reenter(now, w):
	case !w.Write && r.queue.writers == 0 && r.join(now, w):
	case w.Try && r.shut(w.Write): // rule 10
		r.cfg.Answer(w, Outcome{Why: Taken, TTL: r.ttl(now)})
	default:
		if w.Try || len(r.leases) == 0 && r.queue.lasting() == 0 { // no pause is kept that nobody is in, and no TryLock keeps one
			r.hurry(now)
		}
		r.queue.push(w)
	}
	r.pump(now, fx)
}

// Answer is the command in flight coming back.
func (r *RW) Answer(now Time, c *Command, fx *Effects) {
	g := r.inFlight
	r.inFlight = nil
	r.returned(c)
	if g != nil {
		g.prolonged(now, c)
	}
	r.tick(now)
	switch {
	case c.Op == CountWaiters:
		r.countedWaiters(c)
	case g == nil:
		r.heardBy(c)
		r.contention.orphans.answered(now, c)
	case c.Op == ReleaseRead || c.Op == ReleaseWrite:
		r.released(now, g, c)
	case c.Op == Downgrade:
		r.lowered(now, g, c)
	case c.Op == AcquireRead || c.Op == AcquireWrite:
		r.acquired(now, g, c, fx)
	case g.phase != ours: // it ended while the command was on its way
	case c.Op == ConfirmRead || c.Op == ConfirmWrite:
		r.confirmed(now, g, c, fx)
	default:
		r.renewed(now, g, c)
	}
	if r.suspected {
		r.suspectAt(now, r.contention.heedAt)
	}
	r.pump(now, fx)
}

// Unlock ends a hold. The end of a writer's last write, while it reads too, waits for the downgrade.
func (r *RW) Unlock(now Time, h *Hold, ack Settler, fx *Effects) {
	r.tick(now)
	g := r.leases.of(h)
	if g == nil {
		settle(ack, Outcome{Why: h.why})
		r.pump(now, fx)
		return
	}
	g.end(h, r.cfg.Stats)
	r.owners.left(h.owner())
	if h.write {
		g.writes--
	}
	switch {
	case g.holds == nil:
		g.owe(ack)
		r.decide(now, g, fx)
		if g.phase != dead { // handed on, or about to be
			g.acknowledge(Outcome{})
		}
	case g.lowering() && h.write:
		g.owe(ack)
	default:
		settle(ack, Outcome{})
	}
	r.pump(now, fx)
}

// Extend prolongs a hold with a fixed lease to now + lease; never shorter.
func (r *RW) Extend(now Time, h *Hold, lease Time, ack Settler, fx *Effects) {
	r.tick(now)
	g := r.leases.of(h)
	switch until := now + lease - margin(lease); {
	case g == nil:
		settle(ack, Outcome{Why: h.why})
	case until <= g.extent:
		h.prolong(until, &g.Tenure)
		settle(ack, Outcome{})
	default:
		g.growing.add(growth{h: h, lease: lease, since: now, ack: ack})
	}
	r.pump(now, fx)
}

// pump sends the next command of the name, if one is due and none is in flight. Every event ends with it.
func (r *RW) pump(now Time, fx *Effects) {
	for _, g := range r.leases {
		if g.phase == ours && g.holds == nil {
			r.decide(now, g, fx)
		}
	}
	r.thin(now)
	r.seeWaiters(r.queue.writers > 0 || r.queue.lasting() > 0 && !r.leases.reads()) // a reader is let in beside readers
	if r.flight != None || r.renew(now, fx) || r.free(now, fx) || r.releaseOrphan(now, fx) {
		return
	}
	if r.ask(now, fx); r.flight == None {
		r.countWaiters(now, fx)
	}
}

// NextAlarm is the first instant at which time alone changes something.
func (r *RW) NextAlarm() Time {
	at := r.contention.nextAlarm(r.flight == None)
	for _, g := range r.leases {
		if g.phase == ours {
			at = min(at, g.nextEnd())
		}
		if g.ack != nil {
			at = min(at, g.Deadline)
		}
	}
	if r.flight != None {
		return at
	}
	at = min(at, r.lookAlarm())
	for _, g := range r.leases {
		if g.phase == dead || g.lowering() {
			at = min(at, g.askAt)
		}
		at = min(at, g.renewAt())
	}
	if w := r.queue.head; r.leases.asking() != nil || w != nil && r.leases.admit(w) {
		at = min(at, r.askTime())
	}
	return at
}

// Idle reports whether the entry can be forgotten.
func (r *RW) Idle() bool {
	return len(r.leases) == 0 && r.flight == None && r.queue.head == nil && r.contention.idle()
}

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
