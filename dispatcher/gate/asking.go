package gate

import "time"

// What a Lock asks of Redis for its waiters, and how long they sleep after a refusal.

// room reports whether w could have the name beside what this process has. A lease that is being released is settled first
// (invariant: released-owner-is-dead).
func (l *Lock) room(w *Waiter) bool { return l.lease.phase == free || !w.Write && l.reads() }

// ask sends the next acquire for the head of the queue, if it is time.
func (l *Lock) ask(now Time, fx *Effects) {
	if f := l.contest.queue.fair; f != nil {
		l.askInQueue(f, now, fx)
		return
	}
	w := l.contest.queue.head
	if l.flight != None || w == nil || now < l.contest.askTime(l.again) || !l.room(w) {
		return
	}
	l.again = false
	g := &l.lease
	if g.phase == ours {
		l.askToJoin(now, fx)
		return
	}
	r := l.contest.rivals
	inLine, id := l.Kind.InLine() && r.joinsLine(w), r.place.id // while a place stands, its owner id is used
	if id == 0 || !inLine {
		l.cfg.LastID++
		id = l.cfg.LastID
	}
	lease := w.LeaseTime
	if !w.Write {
		lease = l.contest.queue.longest()
	}
	g.ask(id, lease, w.Watch, w.Write)
	g.inLine = inLine
	l.sendAcquire(g, w.takes(lease), fx)
}

// repeatAcquire sends an acquire again that got no answer, under the same owner id: the script does nothing if that owner has the lock. If
// no waiter wants the lease any more, it is released instead.
func (l *Lock) repeatAcquire(now Time, g *Lease, fx *Effects) {
	if now < l.contest.askTime(l.again) {
		return
	}
	w := l.contest.queue.head
	if w == nil || w.Write != g.write {
		l.drop(now, g, nil)
		return
	}
	l.again = false
	g.askFor(w)
	l.sendAcquire(g, w.takes(g.LeaseTime), fx)
}

// sendAcquire sends an acquire of g.
func (l *Lock) sendAcquire(g *Lease, lease time.Duration, fx *Effects) {
	l.cfg.Stats.Attempts.Inc()
	op, code := l.ops(g.write).acquire, int64(0)
	if g.inLine {
		code = l.cfg.Codes.Code(g.ID)
		g.Ends, op = max(g.Ends, l.contest.rivals.place.ends), l.ops(g.write).acquireInLine
	}
	l.send(op, g.ID, lease, fx).Args = PlaceArgs{Code: code}.Args()
}

// refused handles the refusal of the question c: another owner has the name, or readers have to let other processes come
// first. The waiters sleep until a message, the end of the other owner's lease, the end of our own reads, or the poll cap.
func (l *Lock) refused(now Time, c *Command, ttl time.Duration, fx *Effects) {
	*l.askTries() = 0
	l.cfg.Stats.Waits.Inc()
	l.contest.answerWaiters(l.cfg, Outcome{Why: Taken, TTL: ttl})
	if l.contest.queue.head == nil {
		return
	}
	r, q := l.ownRivals(), &l.contest.queue
	changed := !l.reads() && r.theirs.update(now, c.Sent, ttl) // readers that make way have the lease themselves
	r.noteFound(now, changed)
	sleep := l.cfg.sleep(ttl, c.ID)
	l.contest.askAt = now + sleep
	if q.fair != nil {
		l.pauseInQueue(q.fair, now, sleep, fx)
		return
	}
	if l.Kind.InLine() {
		r.waitInLine(&l.Entry, l.cfg, fx)
	}
	met := !l.Kind.InLine() || r.listens || c.Reply.Place().Listens // another than an engine has it
	if met {
		r.turns.noteMet(now)
	}
	switch {
	case changed && l.Kind.InLine():
		r.spins = min(r.spins, 2*commonTries) // every 4 ms
	case changed:
		r.spins = min(r.spins, changingSpins)
	}
	untold := c.Asking // what is published at a node that does not serve the name yet is not heard
	if l.traits().polls {
		r.turns.ends = 0                             // another has the name: there is no pause any more
		untold = untold || met || r.orphans.inLine() // an orphan may be the first in line, before our place
	}
	if untold {
		inLine, seed := l.Kind.InLine(), c.ID
		if inLine { // always under the same owner id: whoever frees the name as often as we ask would never be met
			seed += uint64(now)
		}
		l.contest.askAt = now + min(r.spin(q.n, inLine, seed), sleep)
	}
}
