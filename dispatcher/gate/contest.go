package gate

// contest is who waits for a name here, and what is known of those who want it elsewhere. A process may hold a million names for
// which nobody waits, so that a Lock borrows a contest only while somebody does, and keeps it once there are rivals. The other
// machines have their own.
type contest struct {
	queue  Queue
	acks   pendingAck // of the release that is due or on its way
	askAt  Time       // when the next question for those who wait may leave
	rivals *rivals    // noRivals: there have been none
	rw     *readWrite // of a read-write lock; else nil
}

// noContest is the contest of every Lock without waiters and rivals. It is never written to.
var noContest = contest{rivals: &noRivals}

// begin makes c as new, with rivals of its own.
func (c *contest) begin(cfg *Config, own *rivals) {
	*own = newRivals(cfg)
	*c = contest{rivals: own, rw: c.rw}
}

// ownRivals are the rivals of c, made if there were none.
func (c *contest) ownRivals(cfg *Config) *rivals {
	if c.rivals == &noRivals {
		made := newRivals(cfg)
		c.rivals = &made
	}
	return c.rivals
}

// dismiss answers every waiter that chosen picks and forgets it.
func (c *contest) dismiss(cfg *Config, out Outcome, chosen func(*Waiter) bool) {
	for w := c.queue.head; w != nil; {
		next := w.next
		if chosen(w) {
			c.queue.remove(w)
			cfg.Answer(w, out)
		}
		w = next
	}
}

// answerWaiters passes an answer on to the callers that ask only once, and to all if it is no use to wait. It is noted for those that
// go on waiting.
func (c *contest) answerWaiters(cfg *Config, out Outcome) {
	if out.Why == Granted { // nothing is to be said yet
		return
	}
	c.dismiss(cfg, out, func(w *Waiter) bool { return w.Try || out.final() })
	c.note(cfg, out)
}

// note keeps an answer for the waiters: they are told it when they give up.
func (c *contest) note(cfg *Config, out Outcome) {
	if c.queue.head != nil {
		c.ownRivals(cfg).last.Outcome = out
	}
}

// lastOutcome is what is known of a name that nobody holds here, as the answer to a waiter that gives up.
func (c *contest) lastOutcome(now Time) Outcome {
	return c.rivals.last.outcome(now, c.rivals.theirs.ends)
}

// askTime is when the next question may leave; again: a hint came that its answer may be yes.
func (c *contest) askTime(again bool) Time {
	if again {
		return c.rivals.last.notBefore
	}
	return max(c.askAt, c.rivals.last.notBefore)
}

// endPauses ends the pause before the next question.
func (c *contest) endPauses(now Time) {
	if c.askAt > now {
		c.askAt = now
	}
	if c.rivals.last.notBefore != 0 {
		c.rivals.last.notBefore = 0
	}
}

// declined is a question that surely did nothing, for another reason than another owner.
func (c *contest) declined(now Time, cfg *Config, asked *Command, tries *retries) {
	out, pause := declinedOutcome(asked, tries)
	c.askAt = now + pause
	c.answerWaiters(cfg, out)
}

// askedInVain is a question to which there is no answer that counts.
func (c *contest) askedInVain(now Time, cfg *Config, id uint64, tries *retries, out Outcome) {
	c.askAt = now + tries.next(id)
	c.answerWaiters(cfg, out)
}

// grantedInVain is a grant that is given back: the waiters ask again after a pause, whatever is published meanwhile;
// a caller that asks only once is told.
func (c *contest) grantedInVain(now Time, cfg *Config, id uint64, tries *retries, out Outcome) {
	pause := tries.next(id)
	c.answerWaiters(cfg, out)
	if c.queue.head != nil {
		c.rivals.last.notBefore = now + pause
	}
}

// endWait answers a waiter that waits no longer; known is the last that was heard.
func (c *Config) endWait(w *Waiter, why Why, known Outcome) {
	c.Answer(w, w.endOutcome(why, known)) // last: a settled waiter is its caller's again
}

// subscribed is the subscription being confirmed, perhaps again after a reconnect, or refused. What was published before it
// stood is lost: true, the waiters are to ask again.
func (c *contest) subscribed(cfg *Config, refusal string) (again bool) {
	r := c.rivals
	switch {
	case r.state == unsubscribed: // it was given up meanwhile
	case refusal == "":
		r.confirm()
		return true
	case r.state == subscribing:
		c.dismiss(cfg, Outcome{Why: Refused, ServerMessage: refusal}, everyone)
		r.state = subscribeDenied
	default:
		r.state = subscribeDenied
	}
	return false
}
