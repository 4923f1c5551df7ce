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
