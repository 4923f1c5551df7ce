package gate

import "github.com/wheellock/wheellock/scripts"

// Adoption: a caller takes over a name that stands under another owner field, of a detached lease or of a hold of its own engine.
//
// The callers that want to adopt the name from an owner in Redis, each under a fresh owner id, are not in the queue: the name is not free, and no
// other waiter could have it. Each asks once, one after the other.

// endForAdopter ends the lease, as Force does, if a caller of this engine wants to adopt the name from the hold that has it, once no
// command about the lease is in flight. The Adopt leaves first. The release that follows finds the owner id only if the Adopt has not taken
// it. Callers that want to adopt from another owner get Lost.
func (l *Lock) endForAdopter(now Time) {
	g, r := &l.lease, l.contest.rivals
	if g.phase != ours || r.adopting.head == nil || l.flight != None {
		return
	}
	own := string(l.Kind.AppendOwner(nil, l.cfg.UUID, l.cfg.Salt, g.ID))
	r.adopting.dismiss(l.cfg, Outcome{Why: Lost}, func(w *Waiter) bool { return *w.Adopts != own })
	if r.adopting.head == nil {
		return
	}
	op := l.ops(g.write).releaseOp(g.mayBeInLine())
	l.lose(now, g, Lost, nil)
	l.forget(now, g)
	old := g.orphan(op) // one for the owner id: with two, each answer NotSent would delay the other's release
	old.at, old.late = now, g.Unsure
	r.orphans.add(old)
}

// adopt sends an Adopt for the first caller that wants to adopt the name.
func (l *Lock) adopt(fx *Effects) {
	w := l.contest.rivals.adopting.head
	if l.flight != None || l.lease.phase != free || w == nil {
		return
	}
	l.cfg.LastID++
	l.lease.ask(l.cfg.LastID, w.LeaseTime, w.Watch, true)
	l.cfg.Stats.Attempts.Inc()
	l.send(l.traits().write.adopt, l.lease.ID, w.takes(w.LeaseTime), fx).Args = AdoptArgs{Owner: *w.Adopts}.Args()
}

// adopted handles the answer to an Adopt. The caller gets it, whatever it is: an adoption is asked for once.
func (l *Lock) adopted(now Time, g *Lease, c *Command) {
	r := l.contest.rivals
	w := r.adopting.head // that was asked for, or that wants the same; nil: it waits no longer
	if w != nil && *w.Adopts == c.Args.Adopt().Owner && w.LeaseTime == g.LeaseTime && w.Watch == g.Watch && w.Least <= c.LeaseTime {
		r.adopting.remove(w)
	} else {
		w = nil
	}
	answer := func(out Outcome) {
		if w != nil {
			l.cfg.Answer(w, out)
		}
	}
	switch {
	case c.ran() && c.Reply.Granted():
		g.phase, g.Deadline = ours, 0
		l.confirmTaken(now, g, c)
		out := g.unusable(now, c, l.cfg)
		ack, forced := r.forced(g.ID)
		if forced {
			out = Outcome{Why: Lost}
		}
		if out.Why != Granted {
			l.drop(now, g, ack)
			answer(out)
			return
		}
		l.tries = 0
		l.noteOurs(now, g, c)
		if w != nil {
			l.grant(now, w, g)
		}
	case c.Result == Unknown:
		l.forget(now, g)
		r.trackAdopter(now, c, l.ops(g.write).release)
		answer(unprovedOutcome(c))
	case c.Result == Answered && c.Reply == scripts.NotMine:
		l.forget(now, g)
		answer(Outcome{Why: Lost})
	default:
		l.forget(now, g)
		out, _ := declinedOutcome(c, &l.tries)
		if out.Why == Granted && w != nil { // the Adopt came to Redis too late, and is sent again at once
			r.adopting.push(w)
			return
		}
		answer(out)
	}
}

// trackAdopter has the fresh owner id of an Adopt without an answer released: now, and once more when the Adopt cannot arrive any more
// (invariant: late-acquire-does-nothing).
func (u *unfinished) trackAdopter(now Time, adopt *Command, release Op) {
	late := lateAfter(adopt.Sent)
	u.orphans.add(orphan{id: adopt.ID, op: release, late: late, ends: late + adopt.LeaseTime + 2*margin(adopt.LeaseTime)})
}
