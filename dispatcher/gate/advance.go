package gate

// advance moves the name on and lets go of what it needs no more. Every event ends with it.
func (l *Lock) advance(now Time, fx *Effects) {
	l.next(now, fx)
	if r := l.contest.rivals; r != &noRivals {
		r.thin(now, l.contest.queue.lasting() > 0)
	}
	l.returnContest()
}

// next sends the next command of the name, if one is due and none is in flight.
func (l *Lock) next(now Time, fx *Effects) {
	f := l.contest.queue.fair
	if f != nil {
		f.unsubscribe(&l.Entry, l.cfg, fx)
	}
	for g := l.first(); g != nil; g = l.after(g) {
		if g.phase == ours && g.holds == nil {
			l.decide(now, g, fx)
		}
	}
	if l.contest.rivals != &noRivals {
		l.seeWaiters()
		l.giveUpClaim(now)
		l.makeWay(now)
	}
	switch {
	case l.flight != None || l.renew(now, fx) || l.reask(now, fx) || l.free(now, fx):
	case l.any(unsettled): // its answer comes first (rule 4)
	case l.adopt(fx) || l.releaseOrphan(now, fx) || l.ask(now, fx):
	case f != nil && f.stayInQueue(l, now, fx) || l.countWaiters(now, fx):
	default:
		l.confirmAhead(now, fx)
	}
}

// NextAlarm is the first instant at which time alone changes something.
func (l *Lock) NextAlarm() Time {
	r, settled := l.contest.rivals, !l.any(unsettled)
	at := r.nextAlarm(settled && l.flight == None)
	for g := l.first(); g != nil; g = l.after(g) {
		if g.phase == ours {
			at = min(at, g.nextEnd())
		}
		if l.acks(g).ack != nil {
			at = min(at, g.Deadline)
		}
	}
	if l.flight != None {
		return at
	}
	for g := l.first(); g != nil; g = l.after(g) {
		switch g.phase {
		case ours:
			_, growing := r.growing.lease(g)
			at = min(at, g.renewAt(growing), r.stay.alarm())
		case asked:
			at = min(at, l.contest.askTime(l.again))
		case dead:
			at = min(at, g.Next, g.Ends)
		}
	}
	if settled {
		at = min(at, l.lookAlarm())
	}
	if f := l.contest.queue.fair; f != nil {
		at = min(at, f.alarm(l))
	}
	if w := l.contest.queue.head; w != nil && l.room(w) {
		at = min(at, l.contest.askTime(l.again))
	}
	return at
}

// Idle reports whether the entry can be forgotten.
func (l *Lock) Idle() bool {
	f := l.contest.queue.fair
	return l.flight == None && l.contest.queue.head == nil && !l.any(anyLease) && l.contest.rivals.idle() && (f == nil || f.idle())
}

func anyLease(*Lease) bool { return true }

// unsettled reports whether it is not known whether a lease is ours or gone.
func unsettled(g *Lease) bool { return g.phase == asked || g.phase == dead }
