package gate

import (
	"slices"
	"strings"
)

// Unlock ends a hold. The end of a writer's last write, while it reads too, waits for the downgrade.
func (r *RW) Unlock(now Time, h *Hold, ack Settler, fx *Effects) {
	r.tick(now)
	g := r.leaseOf(h)
	if g == nil {
		settle(ack, Outcome{Why: h.why})
		r.pump(now, fx)
		return
	}
	g.end(h, r.cfg.Stats)
	r.left(h.owner())
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

// decide says what becomes of a tenure that nobody holds. A writer's goes to the next waiter if that is a writer
// too, at once if it is fresh, or after one script confirmed it; else it is freed.
func (r *RW) decide(now Time, g *rwLease, fx *Effects) {
	for w := r.queue.head; w != nil && r.fresh(now, g, w); w = r.queue.head {
		r.queue.remove(w)
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

// fresh is rule 8, and rules 1 and 20 for w: the tenure may be handed to w without asking Redis.
func (r *RW) fresh(now Time, g *rwLease, w *Waiter) bool {
	return g.write && !g.torn && w.Write && w.fits(&g.Tenure) && g.ownership.fresh(now, r.cfg)
}

// tick ends what time has ended. Every event that may grant something calls it first.
func (r *RW) tick(now Time) {
	for _, g := range r.leases {
		if g.ack != nil && now >= g.Deadline {
			g.acknowledge(Outcome{Why: Doubtful}) // Unlock never blocks past the deadline
		}
		if !g.isDue(now) {
			continue
		}
		ended, over := g.expired(now, r.cfg.Stats)
		if ended {
			r.ended(g)
		}
		if over {
			r.drop(now, g, nil)
		}
	}
}

// drop frees a tenure of which no hold is left. ack waits for the answer.
func (r *RW) drop(now Time, g *rwLease, ack Settler) {
	g.owe(ack)
	g.phase, g.askAt = dead, now
	g.growing.abort(func(w *Waiter) { r.requeue(now, w) })
}

// requeue has a re-entry whose Owner writes no more wait like anybody.
func (r *RW) requeue(now Time, w *Waiter) {
	switch {
	case w.Owner != 0 && r.reenter(now, w): // it still reads
	case w.Try && r.shut(w.Write):
		r.cfg.Answer(w, Outcome{Why: Taken, TTL: r.ttl(now)})
	default:
		r.queue.push(w)
	}
}

// gone is a tenure that is not in Redis any more, as Redis says in answer to c.
func (r *RW) gone(now Time, g *rwLease, c *Command) {
	g.endAll(r.cfg.Stats, Lost)
	r.ended(g)
	g.acknowledge(Outcome{Why: Lost})
	r.remove(g)
	g.growing.abort(func(w *Waiter) { r.requeue(now, w) })
	r.askAt = now
	r.orphaned(&g.ownership, c.Sent, releaseOf(g.writer))
}

func (r *RW) turnAllAway() {
	r.waiting.turnAllAway()
	for _, g := range r.leases {
		g.growing.turnAway(r.cfg, Outcome{Why: Closed}, everyone)
	}
}

// expel frees the tenure that is that owner's, if there is one.
func (r *RW) expel(now Time, owner string, id uint64, ack Settler) (release Op, done bool) {
	write := strings.HasSuffix(owner, WriterSuffix)
	i := slices.IndexFunc(r.leases, func(g *rwLease) bool { return id != 0 && g.ID == id && g.phase == ours && g.write == write })
	if i < 0 {
		return releaseOf(write), false
	}
	r.lose(now, r.leases[i], Lost, ack)
	return None, true
}

// endHolds ends all holds and frees their tenures.
func (r *RW) endHolds(now Time, why Why) {
	for _, g := range r.leases {
		if g.phase == ours {
			r.lose(now, g, why, nil)
		}
	}
}

// lose ends all holds of a tenure and frees it. Their contexts end before the release is sent (rule 3).
func (r *RW) lose(now Time, g *rwLease, why Why, ack Settler) {
	g.endAll(r.cfg.Stats, why)
	r.ended(g)
	r.drop(now, g, ack)
}
