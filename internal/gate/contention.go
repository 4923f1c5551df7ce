package gate

// contention is what a name needs only while callers compete for it. A mutex makes it when that begins, so that a name for
// which nobody competes stays small.
type contention struct {
	subscription
	yielding
	turns  turns       // of a name whose waiters poll
	keep   Time        // until when the turns are remembered, although nobody wants the name here; Never: they are not
	theirs otherLease  // of the owner that refused us
	last   *lastAnswer // about those who wait

	swapWatch bool   // whether the swap in flight is for a watched hold
	spins     uint8  // refusals in a row, of a waiter that polls
	tokens    tokens // a fenced tenure's

	growing  growths
	orphans  orphans
	claim    claim
	stay     stay
	adopting adoptions
	wanting  wanting
}

// nextAlarm is when the first of these is due; free: orphans may be released.
func (c *contention) nextAlarm(free bool) Time {
	if free {
		return min(c.linger, c.keep, c.orphans.nextAlarm())
	}
	return min(c.linger, c.keep)
}

// enter notes that the name is ours.
func (c *contention) enter(now Time, cfg *Config) {
	c.yielding.enter(now, cfg)
	c.turns.enter(now)
	c.spins = 0
}

// forget ends the memory of the turns when it is time.
func (c *contention) forget(now Time) {
	if now >= c.keep {
		c.keep = Never
	}
}

func (c *contention) idle() bool {
	return c.state == unsubscribed && c.keep == Never && len(c.orphans) == 0
}

// forced reports whether the tenure of this number was to be freed by force before the answer came that it is ours.
func (c *contention) forced(id uint64) (ack Settler, forced bool) {
	if c == nil {
		return nil, false
	}
	o, forced := c.orphans.take(id)
	return o.ack, forced
}

// turnAdoptersAway answers all who want to take the place of another owner.
func (c *contention) turnAdoptersAway(cfg *Config, why Why) {
	if c == nil {
		return
	}
	for _, w := range c.adopting {
		cfg.Answer(w, Outcome{Why: why})
	}
	c.adopting = nil
}

// releaseArgs are those of a release of ours, or of that owner, if it is not empty.
func (c *contention) releaseArgs(op Op, owner string) Args {
	a := ReleaseArgs{Owner: owner}
	if op == ReleaseClaim && c.state == subscribed {
		a.Own = 1
	}
	return a.Args()
}
