package gate

// The order of a Lock's work. An event first ends what is over by time (endDue), then does its own part, and last sends the next command that is
// due (advance). Answer finds the handler of an answer.

// Answer handles the answer to the command in flight.
func (l *Lock) Answer(now Time, c *Command, fx *Effects) {
	orphan := l.returned(c)
	g := l.leaseOf(c.ID)
	if g != nil {
		g.updateEnds(now, c)
	}
	l.endDue(now)
	switch Operations[c.Op].does {
	case counts:
		l.contest.rivals.countedWaiters(c)
	case peeks:
		l.ownRivals().turns.peeked(now, c)
	case leaves:
		l.contest.queue.fair.answeredLeave(now, c)
	case adopts:
		l.adopted(now, g, c)
	case acquires:
		l.acquired(now, g, c, fx)
	case downgrades:
		l.downgraded(now, g, c)
	case releases:
		if !orphan {
			l.released(now, g, c, fx)
			break
		}
		c.releaseReply()
		l.contest.rivals.orphans.answered(now, c)
	case confirms:
		if g != nil && g.phase == ours { // else the lease ended while the command was on its way
			l.confirmed(now, g, c, fx)
		}
	case renews:
		if g != nil && g.phase == ours {
			l.renewed(now, g, c)
		}
	}
	if g := &l.lease; g.suspected {
		g.suspected = false
		g.suspect(l.contest.rivals.heedAt)
	}
	l.advance(now, fx)
}

// endDue ends the holds and leases with a deadline that has passed. Every event that may grant something calls it first.
func (l *Lock) endDue(now Time) {
	l.contest.rivals.stay.count(now)
	g := &l.lease
	if g.phase != free && now >= g.Deadline {
		l.contest.acks.settle(Outcome{Why: Doubtful}) // Unlock never blocks past the deadline
	}
	if g.isDue(now) && g.endDue(now, l.cfg.Stats, l.owners()) {
		l.drop(now, g, nil)
	}
}

// advance sends the next command, and gives back what the name does not need any more. Every event ends with it.
func (l *Lock) advance(now Time, fx *Effects) {
	l.sendNext(now, fx)
	if r := l.contest.rivals; r != &noRivals {
		waiting := l.contest.queue.lasting() > 0
		r.setLinger(now, waiting && (r.listensToOthers() || !l.Kind.InLine()))
		r.inbox.setLinger(now, waiting)
	}
	l.putIdleContest()
}

// sendNext sends the next command of the name, if one is due: the first in this order, for the others do nothing while a command is in flight
// (invariant: one-command-per-name).
func (l *Lock) sendNext(now Time, fx *Effects) {
	f, g := l.contest.queue.fair, &l.lease
	if g.phase == ours && g.holds.first == nil { // first: what is passed on needs no command
		l.passOrDrop(now, g, fx)
	}
	if l.contest.rivals != &noRivals { // then, because other callers may wait and hold now
		l.notifyOfWaiters()
		l.abandonPlace(now)  // its owner id is released below
		l.endForAdopter(now) // so is the lease's, which would be renewed else
	}
	if l.flight == None {
		switch g.phase {
		case ours: // holds are lost if the renewal waits
			l.renew(now, g, fx)
		case asked: // nothing else is asked for while the acquire may run (invariant: released-owner-is-dead)
			l.repeatAcquire(now, g, fx)
		}
		if g.phase == dead { // also what repeatAcquire has just dropped
			l.release(now, g, fx)
		}
	}
	if g.settled() { // else the next command is about the lease, at its time
		l.adopt(fx)              // before the release of the owner id that it adopts from (invariant: detached-name-stays)
		l.releaseOrphan(now, fx) // before the question: the orphan may have the name
		l.ask(now, fx)
	}
	if f != nil { // the places of an engine that is not kept alive in the queue are skipped (invariant: fair-queue-order)
		l.askToStay(f, now, fx)
		f.unsubscribe(&l.Entry, l.cfg, fx)
	}
	l.countWaiters(now, fx) // while holders want to know
	l.askIfFree(now, fx)    // in a pause, in which nothing is asked for
	l.confirmAhead(now, fx) // last: without it passOrDrop confirms, later
}

// NextAlarm is when the machine must be woken if no event comes before.
func (l *Lock) NextAlarm() Time {
	r, at, g := l.contest.rivals, Never, &l.lease
	if g.phase != free && l.contest.acks.ack != nil {
		at = g.Deadline
	}
	if g.phase == ours {
		at = min(at, g.nextEnd())
	}
	if l.flight == None {
		at = min(at, l.alarm(g))
	}
	at = min(at, r.nextAlarm(g.settled() && l.flight == None))
	if l.flight != None {
		return at
	}
	if f := l.contest.queue.fair; f != nil {
		at = min(at, l.queueAlarm(f))
	}
	if w := l.contest.queue.head; w != nil && l.room(w) {
		at = min(at, l.contest.askTime(l.again))
	}
	return min(at, r.wanting.alarm(l.Kind), l.peekAlarm())
}

// alarm is when the next command about g may leave.
func (l *Lock) alarm(g *Lease) Time {
	switch g.phase {
	case free:
		return Never
	case ours:
		return min(g.renewAt(l.contest.rivals.growing.head != nil), l.contest.rivals.stay.alarm())
	case asked:
		return l.contest.askTime(l.again)
	default:
		return min(g.Next, g.Ends)
	}
}

// Idle reports whether the machine has nothing to do and nothing to remember.
func (l *Lock) Idle() bool {
	f := l.contest.queue.fair
	return l.flight == None && l.contest.queue.head == nil && l.lease.phase == free && l.contest.rivals.idle() && (f == nil || f.idle())
}
