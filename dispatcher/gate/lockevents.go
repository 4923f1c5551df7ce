package gate

import (
	"strings"
	"time"
)

// The events of a Lock. Answer is in advance.go.

// Ask is a caller that wants the name.
func (l *Lock) Ask(now Time, w *Waiter, fx *Effects) {
	l.endDue(now)
	w.Write = w.Write || l.Kind != RWKind
	q := &l.contest.queue
	switch {
	case w.Adopts != nil:
		l.ownRivals().adopting.push(w)
	case w.Owner != 0 && l.reenter(now, w):
	case !w.Write && q.writers == 0 && l.join(now, w):
	case w.Try && l.closedToTry(w.Write): // invariant: trylock-takes-no-handoff
		l.cfg.Answer(w, Outcome{Why: Taken, TTL: l.ttl(now)})
	default:
		switch {
		case w.Try: // it waits for no pause
			l.endPauses(now)
		case q.lasting() == 0 && l.lease.phase == free: // the sleep was that of earlier waiters; a pause for others goes on
			l.contest.endSleep(now)
		}
		l.ownContest().queue.push(w)
	}
	l.advance(now, fx)
}

// EndWait answers a waiter: one of the queue, one that waits for a renewal, or one that wants to adopt. A waiter that has its answer is
// left alone.
func (l *Lock) EndWait(now Time, w *Waiter, why Why, fx *Effects) {
	if w.queued {
		switch {
		case w.Adopts != nil:
			l.contest.rivals.adopting.remove(w)
		case w.asked:
			l.contest.rivals.growing.remove(w)
		default:
			l.contest.queue.remove(w)
		}
		l.cfg.Answer(w, w.endOutcome(why, l.lastOutcome(now)))
	}
	l.admitJoinable(now)
	l.advance(now, fx)
}

// Unlock ends a hold. If it is the last write of an Owner that also reads, ack waits for the downgrade.
func (l *Lock) Unlock(now Time, h *Hold, ack Settler, fx *Effects) {
	l.endDue(now)
	g := l.ended(h)
	switch {
	case g == nil: // it ended while the event was on its way
		settle(ack, Outcome{Why: h.why})
	case g.downgradeDue() && h.write:
		l.addAck(ack)
	case g.holds.first != nil:
		settle(ack, Outcome{})
	default:
		if s := &l.contest.rivals.stay; ack == InVain && s.by == h && !s.more { // an Owner's other holds may have had least times
			l.contest.rivals.endStay()
		}
		l.addAck(ack)
		l.passOrDrop(now, g, fx)
		if g.phase != dead { // it was handed on, or will be
			l.contest.acks.settle(Outcome{})
		}
	}
	l.advance(now, fx)
}

// ended ends a hold that its holder gives back, and returns its lease; nil: it has ended before.
func (l *Lock) ended(h *Hold) *Lease {
	if !h.alive {
		return nil
	}
	g := l.leaseOf(h.Tenure)
	g.end(h, l.cfg.Stats, l.owners())
	return g
}

// Detach ends a hold and leaves the name taken for lease, under the owner field with DetachedSuffix. The time counts from when Redis has
// the command. If other holds of its Owner live, the answer is Taken and the name is not detached.
func (l *Lock) Detach(now Time, h *Hold, lease time.Duration, ack Settler, fx *Effects) {
	l.endDue(now)
	switch g := l.ended(h); {
	case g == nil: // it ended while the event was on its way
		settle(ack, Outcome{Why: h.why})
	case g.holds.first != nil:
		settle(ack, Outcome{Why: Taken})
	default:
		l.ownRivals().stay.lease = lease
		l.drop(now, g, ack)
	}
	l.advance(now, fx)
}

// Extend moves the end of a hold with a fixed lease to now + lease, unless it is later already.
func (l *Lock) Extend(now Time, h *Hold, lease time.Duration, ack Settler, fx *Effects) {
	l.endDue(now)
	g, until := l.leaseOf(h.Tenure), now+lease-margin(lease)
	switch {
	case !h.alive:
		settle(ack, Outcome{Why: h.why})
	case until <= g.extent:
		g.extend(h, until)
		settle(ack, Outcome{})
	default:
		l.ownRivals().growing.push(&Waiter{By: ack, Hold: h, LeaseTime: lease, Since: now})
	}
	l.advance(now, fx)
}

// Message handles messages: that the lock was freed, or that a release gave it to us.
func (l *Lock) Message(now Time, news News, fx *Effects) {
	if l.contest.rivals.isInbox(news.Channel) {
		l.notified(now, news, fx)
		return
	}
	if l.Kind != RWKind { // of a read-write lock a 1 is for readers; of a mutex it is for waiters of Redisson
		if l.contest.queue.fair != nil && l.takeGift(now, news, fx) {
			news.N--
		}
		news.N -= news.ones
	}
	if news.N > 0 {
		l.endDue(now)
		l.freed(now, news.N)
	}
	l.advance(now, fx)
}

// freed handles n messages that the lock was freed. One may be the message of our own release, which comes back. The leases of this process
// may be gone.
func (l *Lock) freed(now Time, n int32) {
	r, have := l.ownRivals(), l.lease.phase == ours
	if have {
		r.noteFound(now, false)
	} else if (n > 1 || !r.own) && r.turns.listen > 0 {
		r.turns.met = now
	}
	r.own = false
	r.turns.noteMessage(now)
	if (l.Kind == RWKind || !have) && !r.waitsForInbox() {
		l.askAgain()
	}
	if have {
		l.suspect(r.heedAt)
	}
}

// askAgain makes the waiters ask, because the name may be free. If a question is on its way, its refusal leads to the next one.
func (l *Lock) askAgain() { l.again = l.contest.queue.head != nil }

// suspect makes Redis be asked whether our lease is there, at that time at the latest.
func (l *Lock) suspect(at Time) {
	g := &l.lease
	g.suspected = g.phase != free && l.flight != None
	g.suspect(at)
}

// Suspect asks Redis at once whether our lease is still there. Until the answer nothing is handed on, and no reader joins
// (invariant: handoff-only-while-fresh). The answer to a command that is on its way proves nothing:
//
//  1. A renewal runs in Redis. Its answer is on its way.
//  2. Another program deletes the key, and the message of that arrives here first.
//  3. The answer says that the owner was there. If that were a proof, the lease would be handed on.
func (l *Lock) Suspect(now Time, fx *Effects) {
	l.suspect(now)
	l.advance(now, fx)
}

// Subscribed handles the confirmation or the refusal of the name's channel, of our inbox, or of the channel of a waiter in a fair queue.
func (l *Lock) Subscribed(now Time, channel, refusal string, fx *Effects) {
	r := l.contest.rivals
	switch f := l.contest.queue.fair; {
	case f != nil:
		l.subscribedInQueue(f, now, refusal)
	case r.isInbox(channel):
		if l.contest.subscribedToInbox(&l.Entry, l.cfg, refusal, fx) {
			l.askAgain()
		}
	case l.contest.subscribed(refusal):
		r.turns.noteMessage(now)
		l.askAgain()
	}
	l.advance(now, fx)
}

// LinkUp handles the end of an outage: our leases are verified, and the waiters ask again.
func (l *Lock) LinkUp(now Time, fx *Effects) {
	l.endDue(now)
	l.endPauses(now)
	*l.askTries(), l.tries = 0, 0
	l.contest.rivals.orphans.endPauses(now)
	if f := l.contest.queue.fair; f != nil {
		f.endPauses()
	}
	l.askAgain()
	if l.lease.phase == ours {
		l.suspect(now)
	}
	l.advance(now, fx)
}

// endPauses ends the pauses before the next question and before releases.
func (l *Lock) endPauses(now Time) {
	l.contest.endPauses(now)
	if g := &l.lease; g.phase == dead {
		g.Next = now
	}
}

// Force releases an owner; id is its number if it is one of this engine, else 0. If it has a lease of this process, its holds end first. If
// Redis has granted it and the answer is still on its way, it is never granted here.
func (l *Lock) Force(now Time, owner string, id uint64, ack Settler, fx *Effects) {
	l.endDue(now)
	write := l.Kind != RWKind || strings.HasSuffix(owner, WriterSuffix)
	if g := l.leaseOf(id); g != nil && id != 0 && g.phase == ours && g.write == write {
		l.contest.rivals.endStay()
		l.lose(now, g, Lost, ack)
	} else {
		if f := l.contest.queue.fair; f != nil {
			l.joinAgain(f, now, id)
		}
		r := l.ownRivals()
		placed := r.place.id == id && r.place.write == write // a reader and a writer of that number are two owners
		inLine := id != 0 && l.Kind.InLine() && (placed || g != nil && g.inLine)
		forced := orphan{owner: owner, id: id, op: l.ops(write).releaseOp(inLine), inLine: inLine, ack: ack}
		if placed {
			forced.ends = r.place.ends // it may have been given the lock
			r.forgetPlace(id)
		}
		r.orphans.add(forced)
	}
	l.advance(now, fx)
}

// Dismiss answers and removes the waiters that chosen picks. Holds go on and can be extended, and releases are still sent.
func (l *Lock) Dismiss(now Time, out Outcome, chosen func(*Waiter) bool, fx *Effects) {
	l.endWaits(out, chosen)
	l.admitJoinable(now)
	l.advance(now, fx)
}

// endWaits answers and removes the callers that chosen picks, wherever they wait: in the queue, for a renewal, or to adopt.
func (l *Lock) endWaits(out Outcome, chosen func(*Waiter) bool) {
	l.contest.queue.dismiss(l.cfg, out, chosen)
	l.contest.rivals.growing.dismiss(l.cfg, out, func(w *Waiter) bool { return w.asked && chosen(w) })
	l.contest.rivals.adopting.dismiss(l.cfg, out, chosen)
}

// Close dismisses all waiters, ends all holds and releases all leases.
func (l *Lock) Close(now Time, fx *Effects) {
	l.endWaits(Outcome{Why: Closed}, everyone)
	if r := l.contest.rivals; r != &noRivals {
		r.close()
		r.inbox.close()
		r.keep, r.turns = Never, turns{}
	}
	if g := &l.lease; g.phase == ours {
		l.lose(now, g, Closed, nil)
	}
	l.advance(now, fx)
}

// Wake handles the alarm.
func (l *Lock) Wake(now Time, fx *Effects) {
	l.endDue(now)
	if r := l.contest.rivals; r != &noRivals {
		if now >= Centuries {
			r.orphans.settleAll(Outcome{Why: Closed})
		}
		if now >= r.keep {
			r.keep = Never
		}
		r.unsubscribeIdle(now, &l.Entry, fx)
		r.inbox.unsubscribeIdle(now, &l.Entry, fx)
	}
	l.advance(now, fx)
}
