package gate

import "time"

// How a name without owners asks in vain: when it asks again, and what those who wait are told.

// late is a call that came to Redis too late: the server's clock is known by then, and it is sent again at once,
// after a pause if that was in vain.
func (l *sequencer) late(now Time, c *Command) {
	out, pause := declined(c, l.retries())
	l.callAt = now + pause
	l.tell(out)
}

// retries counts the attempts at the call under way, or at others like it.
func (l *sequencer) retries() *retries {
	if l.changes.n > 0 {
		return &l.changes.tries
	}
	return &l.tries
}

// pause is how long to wait before the next attempt at the call under way.
func (l *sequencer) pause() time.Duration {
	pause := l.retries().next(l.cfg.LastID)
	if l.changes.n > 0 && l.call.Lease > 0 {
		return within(pause, l.call.Lease)
	}
	return pause
}

// tell passes an answer on to those whom it concerns, and notes it for those who go on waiting.
func (l *sequencer) tell(out Outcome) {
	if out.Why == Granted { // nothing is to be said yet
		return
	}
	l.queue.tell(l.cfg, out)
	l.note(out)
}

func (l *sequencer) note(out Outcome) {
	if l.queue.head != nil {
		l.last = l.last.noted(out)
	}
}

// inVain is a question whose answer gave what must be given back.
func (l *sequencer) inVain(now Time, out Outcome) {
	pause := l.tries.next(l.cfg.LastID)
	l.tell(out)
	if l.queue.head != nil {
		l.last.notBefore = now + pause
	}
}

// askTime is when Redis may be asked for the waiters again.
func (l *sequencer) askTime() Time {
	at := l.askAt
	if l.again {
		at = 0
	}
	return max(at, l.last.earliest())
}
