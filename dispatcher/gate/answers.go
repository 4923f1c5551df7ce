package gate

// Answer is the command in flight coming back.
func (l *Lock) Answer(now Time, c *Command, fx *Effects) {
	orphan := l.returned(c)
	g := l.leaseOf(c.ID)
	if g != nil {
		g.prolonged(now, c)
	}
	l.tick(now)
	switch c.Op {
	case CountWaiters:
		l.countedWaiters(c)
	case FairLeave:
		l.contest.queue.fair.given(now, c)
	case Adopt:
		l.adopted(now, g, c)
	case Acquire, AcquireClaim, AcquireFenced, AcquireRead, AcquireWrite, FairAsk:
		l.acquired(now, g, c, fx)
	case Downgrade:
		l.lowered(now, g, c)
	case Detach, Release, ReleaseClaim, ReleaseQuietly, ReleaseRead, ReleaseWrite, FairRelease:
		if !orphan {
			l.released(now, g, c, fx)
			break
		}
		c.given()
		l.heardBy(c)
		l.contest.rivals.orphans.answered(now, c)
	case Confirm, ConfirmRead, ConfirmWrite:
		if g != nil && g.phase == ours { // else it ended while the command was on its way
			l.confirmed(now, g, c, fx)
		}
	default:
		if g != nil && g.phase == ours {
			l.renewed(now, g, c)
		}
	}
	for g := l.first(); g != nil; g = l.after(g) {
		if g.suspected {
			g.suspected = false
			g.suspect(max(now, l.contest.rivals.heedAt))
		}
	}
	l.advance(now, fx)
}

// tick ends what time has ended. Every event that may grant something calls it first.
func (l *Lock) tick(now Time) {
	if s := &l.contest.rivals.stay; s.least > 0 {
		s.count(now)
	}
	for g := l.first(); g != nil; g = l.after(g) {
		if now >= g.Deadline {
			l.acks(g).acknowledge(Outcome{Why: Doubtful}) // Unlock never blocks past the deadline
		}
		if !g.isDue(now) {
			continue
		}
		ended, over := g.expired(now, l.cfg.Stats)
		if rw := l.contest.rw; ended && rw != nil {
			rw.owners.sweep()
		}
		if over {
			l.drop(now, g, nil)
		}
	}
}
