package gate

// contest is the queue of the callers that wait for a name in this process, and what is known of its rivals in others. A process may hold a
// million names without a waiter, so a Lock takes a contest from a pool only while a caller waits, and keeps it once there are rivals. The
// other machines contain one.
type contest struct {
	queue  Queue
	acks   pendingAck // of the release that is due or on its way
	askAt  Time       // when the next question for the waiters may leave
	rivals *rivals    // noRivals: there have been none
	rw     *readWrite // of a read-write lock, for as long as its machine lives; else nil
}

// noContest is the contest of every Lock without waiters and rivals. It is shared, and never written to.
var noContest = contest{rivals: &noRivals}

// reset makes c as new, with own as its rivals.
func (c *contest) reset(own *rivals) {
	*own, *c = newRivals(), contest{rivals: own, rw: c.rw}
}

// ownRivals returns the rivals of c, to be written to. It makes them if there were none.
func (c *contest) ownRivals() *rivals {
	if c.rivals == &noRivals {
		made := newRivals()
		c.rivals = &made
	}
	return c.rivals
}

// dismissTries removes the waiters that ask only once, or the writers among these, and answers them. It looks for them from both ends of the queue
// at once. So it passes no waiter twice: those that it passes came after the first that it finds, and the next are found before them.
func (c *contest) dismissTries(cfg *Config, out Outcome, writers bool) {
	q := &c.queue
	left := &q.tries
	if writers {
		left = &q.tryWriters
	}
	for front, back, fromBack := q.head, q.tail, false; *left > 0; fromBack = !fromBack {
		w := front
		if fromBack {
			w, back = back, back.prev
		} else {
			front = front.next
		}
		if w.Try && (w.Write || !writers) {
			q.remove(w)
			cfg.Answer(w, out)
		}
	}
}

// answerWaiters passes an answer of Redis to the callers that ask only once, and to all waiters if a later answer will be no better. For
// the others it is noted.
func (c *contest) answerWaiters(cfg *Config, out Outcome) {
	if out.Why == Granted { // there is nothing to say yet
		return
	}
	if out.final() {
		c.queue.dismiss(cfg, out, everyone)
	}
	c.dismissTries(cfg, out, false)
	c.note(cfg, out)
}

// note records an answer of Redis. A waiter gets it when it gives up.
func (c *contest) note(cfg *Config, out Outcome) {
	if c.queue.head != nil {
		c.ownRivals().last.Outcome = out
	}
}

// lastOutcome is the last answer about a name without holds here, for a waiter that gives up.
func (c *contest) lastOutcome(now Time) Outcome {
	out := c.rivals.last.Outcome
	out.Last = out.Why
	if out.Last == Taken {
		out.TTL = timeLeft(now, c.rivals.theirs.ends)
	}
	return out
}

// askTime is when the next question may leave. again: a hint came that the answer may be yes. No hint shortens a pause that is made for others.
func (c *contest) askTime(again bool) Time {
	r, at := c.rivals, c.askAt
	if again {
		at = min(at, r.heedAt)
	}
	return max(at, r.last.notBefore, r.turns.ends)
}

// askFrom sets when the next question may leave. Without waiters and rivals there is nothing to set.
func (c *contest) askFrom(at Time) {
	if c != &noContest {
		c.askAt = at
	}
}

// endSleep has the waiters ask now, or after a pause that is made for others.
func (c *contest) endSleep(now Time) {
	if c.askAt > now {
		c.askAt = now
	}
	if r := c.rivals; r != &noRivals {
		r.last.notBefore = 0
	}
}

// endPauses has the waiters ask now.
func (c *contest) endPauses(now Time) {
	c.endSleep(now)
	if r := c.rivals; r != &noRivals {
		r.turns.ends = 0
	}
}

// declined handles a question that surely did nothing, for another reason than another owner.
func (c *contest) declined(now Time, cfg *Config, asked *Command, tries *retries) {
	out, pause := declinedOutcome(asked, tries)
	c.askAt = now + pause
	c.answerWaiters(cfg, out)
}

// askedInVain handles a question without an answer that counts.
func (c *contest) askedInVain(now Time, cfg *Config, id uint64, tries *retries, out Outcome) {
	c.askAt = now + tries.next(id)
	c.answerWaiters(cfg, out)
}

// grantedInVain handles a grant that is given back. The waiters ask again after a pause, whatever is published meanwhile. Callers that ask
// only once get out.
func (c *contest) grantedInVain(now Time, cfg *Config, id uint64, tries *retries, out Outcome) {
	pause := tries.next(id)
	c.answerWaiters(cfg, out)
	if c.queue.head != nil {
		c.rivals.last.notBefore = now + pause
	}
}

// subscribed handles the confirmation of the subscription, which comes again after a reconnect, or its refusal, after which the waiters ask
// every poll cap. True: they are to ask again now, because messages from before the confirmation are lost.
func (c *contest) subscribed(refusal string) (again bool) {
	r := c.rivals
	if r.state == unsubscribed { // it ended meanwhile
		return false
	}
	if r.state = subscribed; refusal != "" {
		r.state = subscribeDenied
	}
	return refusal == ""
}
