package gate

// How a lease becomes holds: the answer to its acquire, the waiters that it is granted to, and re-entry.

// acquired handles the answer to an acquire.
func (l *Lock) acquired(now Time, g *Lease, c *Command, fx *Effects) {
	if f := l.contest.queue.fair; f != nil && l.answeredInQueue(f, now, c, fx) {
		return
	}
	ttl, held := c.Reply.Held()
	switch {
	case c.ran() && c.Reply.Granted():
		g.phase, g.Deadline, l.again = ours, 0, false
		if c.Asking && g.inLine && l.contest.rivals.place.id == c.ID { // the line is at the other node still, with our place in it
			g.Unsure = now + placeTime
		}
		if p := &l.contest.rivals.place; p.id == c.ID { // the lock may have been given for longer
			g.moveEnds(now, p.gift)
		}
		l.contest.rivals.forgetPlace(c.ID)
		l.confirmTaken(now, g, c)
		l.admitOrDrop(now, g, c)
	case c.Result == Unknown:
		g.unanswered(lateAfter(c.Sent))
		l.contest.rivals.place.unanswered(c)
		l.contest.askedInVain(now, l.cfg, c.ID, l.askTries(), unprovedOutcome(c))
	case held && c.Result == Answered:
		g.phase = free
		l.trackOrphan(g, c.Sent)
		l.contest.rivals.notePlace(now, c, l.cfg)
		l.refused(now, c, ttl, fx)
		if !c.inLine() && l.contest.rivals.inbox.state == subscribed { // no release tells the waiters (joinsLine)
			l.askAgain()
		}
	default:
		g.declined()
		l.contest.declined(now, l.cfg, c, l.askTries())
	}
}

// confirmTaken handles the first confirmation of g, by the answer c to its acquire.
func (l *Lock) confirmTaken(now Time, g *Lease, c *Command) {
	g.confirm(now, c, l.cfg)
	if l.traits().fenced {
		last := int64(c.Reply)
		l.ownRivals().tokens = tokens{last - TokenBlock + 1, last}
	}
}

// admitOrDrop grants g, which c has just taken, to the waiters that it is for. It drops g if the lease was over when the answer came, if
// too few replicas acknowledged it, or if it was released by force meanwhile.
func (l *Lock) admitOrDrop(now Time, g *Lease, c *Command) {
	r := l.contest.rivals
	ack, forced := r.forced(g.ID)
	switch out := g.unusable(now, c, l.cfg); {
	case out.Why != Granted:
		l.contest.grantedInVain(now, l.cfg, g.ID, l.askTries(), out)
	case forced:
	default:
		*l.askTries() = 0
		l.contest.askFrom(now)
		l.noteOurs(now, g, c)
		if l.admit(now, g, c) {
			return
		}
	}
	l.drop(now, g, ack)
}

// noteOurs records that this process has the name now.
func (l *Lock) noteOurs(now Time, g *Lease, c *Command) {
	if !g.write {
		g.Confirmed = c.Sent
	}
	r := l.contest.rivals
	if r == &noRivals {
		return
	}
	r.last.Outcome, r.spins = Outcome{Why: Taken}, 0
	r.noteFound(now, true)
	r.turns.noteOurs(now)
	if l.Kind == SpinKind {
		r.turns.had = 0
	}
	r.listens = r.listens && g.write // or the readers of all engines would make way for us
}

// admit grants g, which c has taken or confirmed, to the first waiter if it is a writer, or to the readers at the head of the queue. False:
// the lock is fair, its waiter has given up, and the queue in Redis decides who is next.
func (l *Lock) admit(now Time, g *Lease, c *Command) bool {
	if f := l.contest.queue.fair; f != nil {
		w := l.admittedInQueue(f, now)
		return w != nil && l.grant(now, w, g)
	}
	q := &l.contest.queue
	for w := q.head; w != nil && w.Write == g.write && g.covers(w, c); w = q.head {
		if w.Watch && !g.Watch {
			g.watch(w.LeaseTime)
		}
		q.remove(w)
		if l.grant(now, w, g) && g.write {
			break
		}
	}
	return true
}

// covers reports whether w can have the lease that c took.
func (l *Lease) covers(w *Waiter, c *Command) bool {
	if l.write {
		return w.Watch == l.Watch && w.LeaseTime == l.LeaseTime && w.Least <= c.LeaseTime
	}
	return w.LeaseTime <= c.LeaseTime
}

// grant makes w a hold of g, and then admits what its Owner has queued besides, unless that had a hold before. False: the caller of w has gone.
// Either way w does not belong to the loop any more.
func (l *Lock) grant(now Time, w *Waiter, g *Lease) bool {
	h, owner, least, r := w.hold(), w.Owner, w.Least, l.contest.rivals
	in, _ := l.holdsOf(owner)
	if rw := l.contest.rw; rw != nil {
		h.holdCount = rw.owners.holdCount(owner, w.Write)
	} else if first := g.holdOf(owner); first != nil { // a re-entry has the token of the first hold
		h.holdCount, h.Token = first.holdCount, first.Token
	}
	if h.Token == 0 && l.traits().fenced {
		h.Token = r.tokens.next
	}
	g.holds.share(h, &g.Tenure)
	w.begin(now, &g.Tenure, g.extent, l.cfg.MaxHold)
	if !l.cfg.Answer(w, Outcome{}) {
		h.end()
		l.owners().forgetIdle(owner)
		return false
	}
	g.add(h, l.cfg.Stats)
	l.cfg.Stats.Granted.Inc()
	if least > 0 {
		l.ownRivals().stay.addLeast(now, h, least)
	}
	if h.Token != 0 && h.Token == r.tokens.next {
		r.tokens.next++ // a token that was put into a settled future is used up
	}
	if !in { // those that wait while their Owner has a hold want a longer lease
		l.admitReentries(now, owner)
	}
	if q := &l.contest.queue; q.tryWriters > 0 || h.write && q.tries > 0 { // callers that ask only once and cannot have the name beside h
		l.contest.dismissTries(l.cfg, Outcome{Why: Taken, TTL: l.ttl(now)}, !h.write)
	}
	return true
}

// holdsOf reports whether an Owner has living holds, and whether one of them is a writer's.
func (l *Lock) holdsOf(owner uint64) (some, writes bool) {
	if rw := l.contest.rw; rw != nil {
		p := rw.owners[owner]
		return p != nil, p != nil && p.writes.count() > 0
	}
	some = l.lease.holdOf(owner) != nil
	return some, some
}

// reenter grants w at once, or after a renewal, if its Owner has a living hold (invariant: reentry-needs-living-hold). False: it has none. A
// reader that wants to write would wait for itself, and gets Deadlock.
func (l *Lock) reenter(now Time, w *Waiter) bool {
	in, writes := l.holdsOf(w.Owner)
	if !in {
		return false
	}
	if w.Write && !writes {
		l.cfg.Answer(w, Outcome{Why: Deadlock})
		return true
	}
	switch g := &l.lease; {
	case g.lasts(now, w):
		w.Way = Reentry
		l.grant(now, w, g)
	case writes:
		w.asked = true
		l.ownRivals().growing.push(w)
		if w.Try { // it does not wait for the end of a pause
			g.Next = min(g.Next, now)
		}
	default:
		if w.Try {
			l.contest.endPauses(now)
		}
		l.contest.queue.pushFront(w)
	}
	return true
}

// admitReentries grants the queued requests of an Owner that has got a hold (invariant: reentry-needs-living-hold).
func (l *Lock) admitReentries(now Time, owner uint64) {
	var in []*Waiter // all leave the queue before the first is granted
	for w := l.contest.queue.owners[owner]; w != nil; w = l.contest.queue.owners[owner] {
		l.contest.queue.remove(w)
		in = append(in, w)
	}
	for _, w := range in {
		l.reenter(now, w)
	}
}

// requeue treats a re-entry like any request, because the hold that it would have entered has ended.
func (l *Lock) requeue(now Time, w *Waiter) {
	w.asked, w.place = false, 0
	switch {
	case w.Owner != 0 && l.reenter(now, w): // its Owner still has a read hold
	case w.Try && l.closedToTry(w.Write):
		l.cfg.Answer(w, Outcome{Why: Taken, TTL: l.ttl(now)})
	default:
		l.ownContest().queue.push(w)
	}
}

// closedToTry reports whether a TryLock must fail, by the holds and waiters of this process.
func (l *Lock) closedToTry(write bool) bool {
	q := &l.contest.queue
	return write && q.lasting() > 0 || !write && q.writers > 0 || l.held() && (write || l.lease.write)
}

// growInto grants a re-entry after the renewal that it waited for, or queues it if its Owner has no writer's hold any more.
func (l *Lock) growInto(now Time, g *Lease, w *Waiter) {
	if _, writes := l.holdsOf(w.Owner); !writes {
		l.requeue(now, w)
		return
	}
	if w.Watch && !g.Watch {
		g.Stretched = g.Stretched || g.LeaseTime > w.LeaseTime
		g.watch(w.LeaseTime)
	}
	w.Way = Reentry
	l.grant(now, w, g)
}
