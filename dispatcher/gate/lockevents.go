package gate

import (
	"strings"
	"time"
)

// Ask is a caller that wants in.
func (l *Lock) Ask(now Time, w *Waiter, fx *Effects) {
	l.endDue(now)
	w.Write = w.Write || l.contest.rw == nil
	q := &l.contest.queue
	switch {
	case w.Adopts != "":
		r := l.ownRivals()
		r.adopting = append(r.adopting, w)
	case w.Owner != 0 && l.reenter(now, w):
	case !w.Write && q.writers == 0 && l.join(now, w):
	case w.Try && l.closedToTry(w.Write): // rule 10: TryLock never takes a handoff
		l.cfg.Answer(w, Outcome{Why: Taken, TTL: l.ttl(now)})
	default:
		switch {
		case w.Try: // it keeps no pause
			l.endPauses(now)
		case q.lasting() == 0 && l.first() == nil && !l.contest.rivals.pausing(): // no pause is kept that nobody is in
			l.contest.endPauses(now)
		}
		l.ownContest().queue.push(w)
	}
	l.advance(now, fx)
}

// Abandon gives up a waiter: its caller waits no longer.
func (l *Lock) Abandon(now Time, w *Waiter, fx *Effects) { l.endWait(now, w, GaveUp, fx) }

// Timeout gives up a waiter that has waited until its Until.
func (l *Lock) Timeout(now Time, w *Waiter, fx *Effects) { l.endWait(now, w, TimedOut, fx) }

// endWait answers a waiter that waits no longer, also one that waits for a renewal or for the place of another owner. One that
// has had its answer is left alone.
func (l *Lock) endWait(now Time, w *Waiter, why Why, fx *Effects) {
	waited, r := w.queued, l.contest.rivals
	l.contest.queue.remove(w)
	if waited || r.growing.forget(w) || r.adopting.forget(w) {
		l.cfg.endWait(w, why, l.lastOutcome(now))
	}
	l.admitJoinable(now)
	l.advance(now, fx)
}

// Unlock ends a hold. The end of a writer's last write, while it reads too, waits for the downgrade.
func (l *Lock) Unlock(now Time, h *Hold, ack Settler, fx *Effects) {
	l.endDue(now)
	g := l.ended(h)
	switch {
	case g == nil: // it ended while this was on its way
		settle(ack, Outcome{Why: h.why})
	case g.downgradeDue() && h.write:
		l.addAck(g, ack)
	case g.holds != nil:
		settle(ack, Outcome{})
	default:
		if ack == InVain && h.holdCount == nil { // an Owner's other holds may have had least times
			l.contest.rivals.endStay()
		}
		l.addAck(g, ack)
		l.passOrDrop(now, g, fx)
		if g.phase != dead { // handed on, or about to be
			l.acks(g).settle(Outcome{})
		}
	}
	l.advance(now, fx)
}

// ended ends a hold by its holder's wish, and returns the lease that it was of; nil: it has ended before.
func (l *Lock) ended(h *Hold) *Lease {
	if !h.alive {
		return nil
	}
	g := l.leaseOf(h.Tenure)
	g.end(h, l.cfg.Stats)
	if rw := l.contest.rw; rw != nil {
		rw.owners.forgetIdle(h.owner())
	}
	return g
}

// Detach ends a hold and leaves the name to the owner field that DetachedSuffix makes of its tenure's, for lease from when Redis
// has the command. Not while other holds of its Owner live: then the answer is Taken.
func (l *Lock) Detach(now Time, h *Hold, lease time.Duration, ack Settler, fx *Effects) {
	l.endDue(now)
	switch g := l.ended(h); {
	case g == nil: // it ended while this was on its way
		settle(ack, Outcome{Why: h.why})
	case g.holds != nil:
		settle(ack, Outcome{Why: Taken})
	default:
		l.ownRivals().stay.lease = lease
		l.drop(now, g, ack)
	}
	l.advance(now, fx)
}

// Extend prolongs a hold with a fixed lease to now + lease; never shorter.
func (l *Lock) Extend(now Time, h *Hold, lease time.Duration, ack Settler, fx *Effects) {
	l.endDue(now)
	g, until := l.leaseOf(h.Tenure), now+lease-margin(lease)
	switch {
	case !h.alive:
		settle(ack, Outcome{Why: h.why})
	case until <= g.extent:
		h.extend(until, &g.Tenure)
		settle(ack, Outcome{})
	default:
		l.ownRivals().growing.add(growth{of: g, h: h, lease: lease, since: now, ack: ack})
	}
	l.advance(now, fx)
}

// Message is a hint that the lock was freed, or says that it was given to our claim.
func (l *Lock) Message(now Time, news News, fx *Effects) {
	claimed := false
	if l.contest.rw == nil { // where a 1 is for readers; here it is for waiters of Redisson
		if claimed = l.takeClaimed(now, news, fx); claimed {
			news.N--
		}
		news.N -= news.ones
	}
	if l.ownRivals().foreign(news) {
		l.endDue(now)
		l.endYield(false, now) // somebody had it, to free it
		l.freedByOther(now)
		l.advance(now, fx)
	} else if claimed || l.again { // also if it was taken for our own message
		l.advance(now, fx)
	}
}

// freedByOther is a hint that the lock was freed by somebody else, and that what we have of it is not there.
func (l *Lock) freedByOther(now Time) {
	r, rw := l.contest.rivals, l.contest.rw
	have := l.any(func(g *Lease) bool { return rw != nil || g.phase == ours })
	if have {
		r.noteFound(now, false)
	}
	if rw != nil || !have {
		l.hinted(now)
	}
	if rw != nil || have {
		l.suspect(now, r.heedAt)
	}
}

// hinted handles a message that the name may be free: the waiters ask again. A refusal that is on its way waits until heedAt.
func (l *Lock) hinted(now Time) {
	switch at := l.contest.rivals.heedAt; {
	case l.contest.queue.head == nil:
		l.again = false
	case now < at && l.flight == None:
		l.contest.askAt = min(l.contest.askAt, at)
	default:
		l.again = true
	}
}

// suspect has Redis asked at that time at the latest whether our owners are there.
func (l *Lock) suspect(now, at Time) {
	for g := l.first(); g != nil; g = l.after(g) {
		g.suspected = l.flight != None
		g.suspect(max(now, at))
	}
}

// Suspect asks Redis at once whether our owners are still there; until the answer nothing is handed on, and nobody joins
// (rule 8). The answer to a command that is on its way proves nothing:
//
//  1. A renewal runs in Redis. Its answer is on its way.
//  2. Somebody deletes the key, and the message of that arrives here first.
//  3. The answer says that the owner was there. Were that a proof, the tenure would be handed on.
func (l *Lock) Suspect(now Time, fx *Effects) {
	l.suspect(now, now)
	l.advance(now, fx)
}

// Subscribed is the subscription of the name, or one of a waiter in the queue of a fair lock.
func (l *Lock) Subscribed(now Time, refusal string, fx *Effects) {
	if f := l.contest.queue.fair; f != nil {
		f.subscribedInQueue(l, now, refusal)
	} else if l.contest.subscribed(l.cfg, refusal) {
		l.askAgain()
	}
	l.advance(now, fx)
}

// askAgain has the waiters ask, unless the lock is ours.
func (l *Lock) askAgain() {
	l.again = l.contest.queue.head != nil && !l.any(func(g *Lease) bool { return g.phase == ours && l.contest.rw == nil })
}

// LinkUp is the end of a break of the link: holds are verified, waiters ask again.
func (l *Lock) LinkUp(now Time, fx *Effects) {
	l.endDue(now)
	l.endPauses(now)
	*l.askTries(), l.tries = 0, 0
	l.contest.rivals.orphans.endPauses(now)
	if f := l.contest.queue.fair; f != nil {
		f.endPauses()
	}
	l.askAgain()
	if l.contest.rw != nil || l.lease.phase == ours {
		l.suspect(now, now)
	}
	l.advance(now, fx)
}

// endPauses ends the pauses before the next question and before releases.
func (l *Lock) endPauses(now Time) {
	l.contest.endPauses(now)
	for g := l.first(); g != nil; g = l.after(g) {
		if g.phase == dead {
			g.Next = min(g.Next, now)
		}
	}
}

// Force frees an owner. When it is one of ours, its holds end first; when it is one that was granted in Redis but not here
// yet, it is never handed out.
func (l *Lock) Force(now Time, owner string, id uint64, ack Settler, fx *Effects) {
	l.endDue(now)
	write := l.contest.rw == nil || strings.HasSuffix(owner, WriterSuffix)
	if g := l.leaseOf(id); g != nil && id != 0 && g.phase == ours && g.write == write {
		l.contest.rivals.endStay()
		l.lose(now, g, Lost, ack)
	} else {
		if f := l.contest.queue.fair; f != nil {
			f.grantedInVain(l, now, id)
		}
		r := l.ownRivals()
		r.forgetClaim(id)
		r.orphans.add(orphan{owner: owner, id: id, op: l.releaseOp(l.lease.ID, write), at: now, ack: ack})
	}
	l.advance(now, fx)
}

// Drain turns all waiters away; holds go on, and can be extended, and what is to be given back is still given.
func (l *Lock) Drain(now Time, fx *Effects) {
	l.dismissAll()
	l.advance(now, fx)
}

func (l *Lock) dismissAll() {
	out := Outcome{Why: Closed}
	l.contest.dismiss(l.cfg, out, everyone)
	l.contest.rivals.growing.dismiss(l.cfg, nil, out, everyone)
	l.contest.rivals.dismissAdopters(l.cfg, Closed, "")
}

// Close turns everybody away, ends all holds and frees everything.
func (l *Lock) Close(now Time, fx *Effects) {
	l.dismissAll()
	if r := l.contest.rivals; r != &noRivals {
		r.subscription.close()
		r.keep, r.turns = Never, turns{}
	}
	for g := l.first(); g != nil; g = l.after(g) {
		if g.phase == ours {
			l.lose(now, g, Closed, nil)
		}
	}
	l.advance(now, fx)
}

// Wake is the alarm.
func (l *Lock) Wake(now Time, fx *Effects) {
	l.endDue(now)
	if r := l.contest.rivals; r != &noRivals {
		if now >= Centuries {
			r.orphans.settleAll(Outcome{Why: Closed})
		}
		r.forgetTurns(now)
		if l.contest.queue.lasting() == 0 {
			r.unsubscribeIdle(now, &l.Entry, fx)
		}
	}
	l.advance(now, fx)
}
