package gate

// confirmTaken notes that g is ours, by the answer c.
func (l *Lock) confirmTaken(now Time, g *Lease, c *Command) {
	g.confirm(now, c, l.cfg)
	if l.traits().fenced {
		last := int64(c.Reply)
		l.ownRivals().tokens = tokens{last - TokenBlock + 1, last}
	}
}

// admitOrDrop lets callers in under g, which c has just taken. What was taken in vain is given back: its lease was over when the answer came,
// too few replicas have it, or it was to be freed by force meanwhile.
func (l *Lock) admitOrDrop(now Time, g *Lease, c *Command) {
	r := l.contest.rivals
	ack, forced := r.forced(g.ID)
	switch out := g.unusable(now, c, l.cfg); {
	case out.Why != Granted:
		l.contest.grantedInVain(now, l.cfg, g.ID, l.askTries(), out)
	case forced:
	default:
		*l.askTries() = 0
		l.askFrom(now)
		l.noteOurs(now, g, c)
		if l.admit(now, g, c) {
			return
		}
	}
	l.drop(now, g, ack)
}

// noteOurs notes that the name is ours, and nobody's else.
func (l *Lock) noteOurs(now Time, g *Lease, c *Command) {
	if !g.write {
		g.Confirmed = c.Sent
	}
	r := l.contest.rivals
	if r == &noRivals {
		return
	}
	r.last.Outcome = Outcome{Why: Taken}
	if l.contest.rw != nil {
		r.noteFound(now, true)
		r.streak, r.outside = now, 0
	} else {
		r.noteOurs(now, l.cfg)
	}
}

// admit lets in the waiters that g was taken for by c, straight from the answer: one that excludes others, or the readers at the head of
// the queue. False: the queue in Redis has given the lock to one that waits no longer, and says which is next.
func (l *Lock) admit(now Time, g *Lease, c *Command) bool {
	if f := l.contest.queue.fair; f != nil {
		w := f.admitted(l, now)
		return w != nil && l.admitOne(now, w, g)
	}
	q := &l.contest.queue
	for w := q.head; w != nil && w.Write == g.write && g.covers(w, c); w = q.head {
		if w.Watch && !g.Watch {
			g.watch(w.Lease, c.Sent)
		}
		q.remove(w)
		if l.grant(now, w, g) && g.write {
			break
		}
	}
	l.admitReentries(now)
	return true
}

// covers reports whether w can have the lease as c took it.
func (l *Lease) covers(w *Waiter, c *Command) bool {
	if l.write {
		return w.Watch == l.Watch && w.Lease == l.Lease && w.Least <= c.Lease
	}
	return w.Lease <= c.Lease
}

// admitOne makes w a holder, and lets in what else Owners that are in have queued. False: its caller had gone.
func (l *Lock) admitOne(now Time, w *Waiter, g *Lease) bool {
	in := l.grant(now, w, g)
	if in {
		l.admitReentries(now)
	}
	return in
}

// grant makes w a holder under g. False: its caller had gone. Either way w is not the loop's any more.
func (l *Lock) grant(now Time, w *Waiter, g *Lease) bool {
	h, owner, least, r := w.hold(), w.Owner, w.Least, l.contest.rivals
	if rw := l.contest.rw; rw != nil {
		h.holdCount = rw.owners.holdCount(owner, w.Write)
	} else if first := g.holdOf(owner); first != nil { // re-entry is not a new owner
		h.holdCount, h.Token = first.holdCount, first.Token
	}
	if h.Token == 0 && l.traits().fenced {
		h.Token = r.tokens.next
	}
	w.begin(now, &g.Tenure, g.extent, l.cfg.MaxHold)
	if !l.cfg.Answer(w, Outcome{}) {
		h.end()
		l.forgetIdleOwner(owner)
		return false
	}
	g.add(h, l.cfg.Stats)
	l.cfg.Stats.countGrant()
	if least > 0 {
		l.ownRivals().stay.addLeast(now, least)
	}
	if h.Token != 0 && h.Token == r.tokens.next {
		r.tokens.next++ // put into a settled future: used up
	}
	if l.contest.queue.tries > 0 { // callers that ask only once, and cannot have the name beside h
		l.contest.dismiss(l.cfg, Outcome{Why: Taken, TTL: l.ttl(now)}, func(w *Waiter) bool {
			return w.Try && (h.write || w.Write) && (w.Owner == 0 || w.Owner != owner) // its own re-enter
		})
	}
	return true
}

// holdsOf reports whether an Owner has living holds, and whether one of them excludes others.
func (l *Lock) holdsOf(owner uint64) (some, writes bool) {
	if rw := l.contest.rw; rw != nil {
		p := rw.owners[owner]
		return p != nil, p != nil && p.writes.count() > 0
	}
	some = l.lease.holdOf(owner) != nil
	return some, some
}

// forgetIdleOwner forgets an Owner that holds nothing any more.
func (l *Lock) forgetIdleOwner(owner uint64) {
	if rw := l.contest.rw; rw != nil {
		rw.owners.forgetIdle(owner)
	}
}

// reenter deals with a caller if its Owner has a living hold (rule 5). False: it has none. A reader that wants to write would wait for
// itself, and is told so.
func (l *Lock) reenter(now Time, w *Waiter) bool {
	in, writes := l.holdsOf(w.Owner)
	if !in {
		return false
	}
	if w.Write && !writes {
		l.cfg.Answer(w, Outcome{Why: Deadlock})
		return true
	}
	for g := l.first(); g != nil; g = l.after(g) {
		if g.phase != ours || g.write && !g.downgradeDue() && !writes {
			continue
		}
		if g.lasts(now, w) {
			w.Reentry = true
			l.grant(now, w, g)
			return true
		}
		if writes {
			l.ownRivals().growing.add(growth{of: g, w: w, lease: w.takes(w.Lease)})
			if w.Try { // it does not wait for the end of a pause
				g.Next = min(g.Next, now)
			}
			return true
		}
	}
	if w.Try {
		l.contest.endPauses(now)
	}
	l.contest.queue.pushFront(w)
	return true
}

// admitReentries lets in what Owners that are in have queued besides (rule 5).
func (l *Lock) admitReentries(now Time) {
	if l.contest.queue.owned == 0 {
		return
	}
	var in []*Waiter // out of the queue before the first is let in, which turns others away
	for w := l.contest.queue.head; w != nil; {
		next := w.next
		if inside, _ := l.holdsOf(w.Owner); inside && w.Owner != 0 {
			l.contest.queue.remove(w)
			in = append(in, w)
		}
		w = next
	}
	for _, w := range in {
		l.reenter(now, w)
	}
}

// requeue has a re-entry wait like any caller: its Owner excludes nobody any more.
func (l *Lock) requeue(now Time, w *Waiter) {
	switch {
	case w.Owner != 0 && l.reenter(now, w): // it still reads
	case w.Try && l.closedToTry(w.Write):
		l.cfg.Answer(w, Outcome{Why: Taken, TTL: l.ttl(now)})
	default:
		l.ownContest().queue.push(w)
	}
}

// closedToTry reports whether a TryLock has no chance, by what lives and waits here.
func (l *Lock) closedToTry(write bool) bool {
	q := &l.contest.queue
	return write && q.lasting() > 0 || !write && q.writers > 0 || l.any(func(g *Lease) bool { return g.holds != nil && (write || g.write) })
}

// growInto grants a re-entry after the renewal it waited for, or queues it when its Owner excludes nobody now.
func (l *Lock) growInto(now Time, g *Lease, w *Waiter) {
	if _, writes := l.holdsOf(w.Owner); !writes {
		l.requeue(now, w)
		return
	}
	if w.Watch && !g.Watch {
		g.Stretched = g.Stretched || g.Lease > w.Lease
		g.watch(w.Lease, g.Confirmed)
	}
	w.Reentry = true
	l.grant(now, w, g)
}
