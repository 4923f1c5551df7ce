package gate

// How a read-write lock asks in vain: when it asks again, and what those who wait are told.

// askTime is when the next question may leave.
func (r *RW) askTime() Time {
	at := r.askAt
	if r.again {
		at = 0
	}
	return max(at, r.last.earliest())
}

// hurry ends the pause before the next question.
func (r *RW) hurry(now Time) {
	r.askAt = min(r.askAt, now)
	r.last.hurry()
}

// tell passes an answer on to those whom it concerns, and notes it for those who go on waiting.
func (r *RW) tell(out Outcome) {
	if out.Why == Granted { // nothing is to be said yet
		return
	}
	r.queue.tell(r.cfg, out)
	if r.queue.head != nil {
		r.last = r.last.noted(out)
	}
}

// inVain is a question to which there is no answer that counts.
func (r *RW) inVain(now Time, c *Command, out Outcome) {
	r.askAt = now + r.asks.next(c.ID)
	r.tell(out)
}

// declined is an acquire that surely did nothing, for another reason than another owner.
func (r *RW) declined(now Time, c *Command) {
	out, pause := declined(c, &r.asks)
	r.askAt = now + pause
	r.tell(out)
}
