package gate

// forget takes out a waiter. Redis may have been asked for more than is wanted now, and so have given nothing: those behind
// are asked for anew.
func (l *sequencer) forget(w *Waiter) bool {
	l.again = l.again || w.queued && w.asked
	return l.waiting.forget(w)
}

func (l *sequencer) askAgain() { l.again = true }

// Message is news on the channel: that a latch has changed.
func (l *sequencer) Message(now Time, news News, fx *Effects) {
	if l.contention.foreign(news) {
		l.heed(now, fx)
	}
}

// permitNews is news on the channel of permits: how many there are now, or how many came.
func (l *sequencer) permitNews(now Time, news News, fx *Effects) {
	if l.contention.foreign(news) && news.Most > 0 {
		l.heed(now, fx)
	}
}

// heed is a hint by a message. What nobody is granted by counts as a message in vain.
func (l *sequencer) heed(now Time, fx *Effects) {
	l.contention.found(now, false)
	if now >= l.contention.heedAt {
		l.hint(now, fx)
		return
	}
	l.askAt, l.contention.missed = min(l.askAt, l.contention.heedAt), l.out
	l.pump(now, fx)
}

// hint says that the next answer may be yes.
func (l *sequencer) hint(now Time, fx *Effects) {
	l.again = true
	l.pump(now, fx)
}

// Suspect is a change of the key behind our back.
func (l *sequencer) Suspect(now Time, fx *Effects) { l.hint(now, fx) }

// LinkUp is the end of a break of the link.
func (l *sequencer) LinkUp(now Time, fx *Effects) {
	l.askAt, l.callAt = min(l.askAt, now), min(l.callAt, now)
	l.tries, l.changes.tries = 0, 0
	l.contention.last.hurry()
	l.hint(now, fx)
}

// Close is Drain, for good.
func (l *sequencer) Close(now Time, fx *Effects) {
	l.contention.subscription.close()
	l.Drain(now, fx)
}

// Wake is the alarm.
func (l *sequencer) Wake(now Time, fx *Effects) {
	if now >= Centuries {
		l.end(now)
		return
	}
	if l.queue.head == nil {
		l.contention.expire(now, &l.Entry, fx)
	}
	l.pump(now, fx)
}

// end settles what nobody will work on any more.
func (l *sequencer) end(now Time) {
	l.turnAway(Outcome{Why: Closed}, everyone)
	if l.call.Op != None && l.changes.n > 0 && (l.out || l.unsure != 0) {
		l.giveUp(now, Outcome{Why: Doubtful})
	}
	l.changes.settleAll(Outcome{Why: Down})
}

// NextAlarm is the first instant at which time alone changes something.
func (l *sequencer) NextAlarm() Time {
	at := l.contention.linger
	switch {
	case l.out:
	case l.call.Op != None:
		at = min(at, l.callAt)
		if l.unsure != 0 {
			at = min(at, l.unsure+receiptTime)
		}
	case l.changes.queue != nil:
		at = min(at, l.callAt)
	case l.queue.head != nil:
		at = min(at, l.askTime())
	}
	return at
}

// Idle reports whether the entry can be forgotten.
func (l *sequencer) Idle() bool {
	return l.call.Op == None && l.queue.head == nil && l.changes.queue == nil && l.contention.state == unsubscribed
}
