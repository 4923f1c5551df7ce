package gate

// sequencer is what the machines of names without owners share: the waiters, what is to be changed, and the one
// call that is under way. A call has a number, and whatever happens to its answer it is sent again under
// that number until Redis has said what it did (rule 22); only then comes the next.
type sequencer struct {
	Entry
	cfg     *Config
	contest contest
	rivals  rivals
	kind    countedKind
	changes changes

	call   Command // under way; Op None: nothing is
	out    bool    // it is on its way; else it waits for callAt
	unsure Time    // when it was sent and got no answer first; 0: it never did
	denied Time    // when it was refused first, for a reason that may pass; 0: it never was
	callAt Time    // when it, or the next change, may be sent
}

// countedKind is what differs between the kinds.
type countedKind interface {
	ask() Command                            // the question for those at the head of the queue
	heard(now Time, c *Command, fx *Effects) // its answer
	channel() func(string) string            // where news is announced
	reask(c *Command)                        // the question is sent again: change it to what is wanted now
	left(now Time) (Change, bool)            // what is to be changed besides what was asked for
	lost()                                   // its answer will never come
	giveBack(c *Command)                     // its answer is UnderReplicated
}

func (l *sequencer) reset(cfg *Config, r countedKind) {
	*l = sequencer{Entry: l.Entry, cfg: cfg, kind: r}
	l.contest.begin(cfg, &l.rivals)
}

// Ask is a caller that wants in.
func (l *sequencer) Ask(now Time, w *Waiter, fx *Effects) {
	if w.Try && l.contest.queue.lasting() > 0 { // those that wait come first
		l.cfg.Answer(w, Outcome{Why: Taken, TTL: -1})
		return
	}
	if l.contest.queue.head == nil {
		l.contest.askAt = min(l.contest.askAt, now)
		l.rivals.last = lastAnswer{Outcome: Outcome{Why: Down}}
	}
	if w.Try { // it does not wait for the end of a pause
		l.callAt = min(l.callAt, now)
	}
	w.asked = false
	l.contest.queue.push(w)
	l.pump(now, fx)
}

// Change is a call that does not wait in line.
func (l *sequencer) Change(now Time, c Change, fx *Effects) {
	if !c.lasting() { // it does not wait for the end of a pause
		l.callAt = min(l.callAt, now)
	}
	l.changes.queue = append(l.changes.queue, c)
	l.pump(now, fx)
}

// pump sends the next call, if one is due and none is on its way, and notes whether anybody still has to listen.
// Every event ends with it.
func (l *sequencer) pump(now Time, fx *Effects) {
	l.advance(now, fx)
	l.rivals.thin(now, l.contest.queue.lasting() > 0)
}

func (l *sequencer) advance(now Time, fx *Effects) {
	if l.out {
		return
	}
	if l.call.Op != None {
		l.repeat(now, fx)
	}
	if l.call.Op != None {
		return
	}
	if c, due := l.kind.left(now); due {
		l.changes.queue = append([]Change{c}, l.changes.queue...)
	}
	switch {
	case l.changes.queue != nil:
		if now >= l.callAt {
			l.start(l.changes.next(), fx)
		}
	case l.contest.queue.head == nil:
		l.again = false
	case now >= l.contest.askTime(l.again):
		l.again = false
		l.cfg.Stats.Attempts.Inc()
		l.start(l.kind.ask(), fx)
	}
}

func (l *sequencer) start(c Command, fx *Effects) {
	l.cfg.LastID++
	c.Entry, c.ID = &l.Entry, l.cfg.LastID
	if c.Op == PermitTake { // it gives numbers to its ids
		l.cfg.LastID += uint64(c.Args.PermitTake().N) - 1
	}
	l.call, l.unsure, l.denied = c, 0, 0
	l.send(fx)
}

func (l *sequencer) send(fx *Effects) {
	l.out = true
	if Operations[l.call.Op].publishes {
		l.rivals.publishing()
	}
	*fx.add(l.call.Op) = l.call
}

// repeat sends the call that is not settled once more, or gives it up.
func (l *sequencer) repeat(now Time, fx *Effects) {
	switch {
	case l.unsure != 0 && now >= l.unsure+receiptTime:
		l.giveUp(Outcome{Why: Doubtful})
	case now >= l.callAt:
		if l.changes.n == 0 { // the same question, for those that wait now
			l.kind.reask(&l.call)
		}
		l.send(fx)
	}
}

// giveUp ends the call without an answer.
func (l *sequencer) giveUp(out Outcome) {
	if l.changes.n > 0 {
		l.changes.settle(out)
	} else {
		l.kind.lost()
	}
	l.call = Command{}
}

// forget takes out a waiter. Redis may have been asked for more than is wanted now, and so have given nothing: those behind
// are asked for anew.
func (l *sequencer) forget(w *Waiter) (waited bool) {
	waited = w.queued
	l.again = l.again || waited && w.asked
	l.contest.queue.remove(w)
	return waited
}

// Abandon gives up a waiter: its caller waits no longer.
func (l *sequencer) Abandon(now Time, w *Waiter, fx *Effects) { l.endWait(now, w, GaveUp, fx) }

// Timeout gives up a waiter that has waited until its Until.
func (l *sequencer) Timeout(now Time, w *Waiter, fx *Effects) { l.endWait(now, w, TimedOut, fx) }

// endWait answers a waiter that waits no longer. One that has had its answer is left alone.
func (l *sequencer) endWait(now Time, w *Waiter, why Why, fx *Effects) {
	if l.forget(w) {
		l.cfg.endWait(w, why, l.contest.lastOutcome(now))
	}
	l.pump(now, fx)
}

// Subscribed is the subscription being confirmed, perhaps again after a reconnect, or refused.
func (l *sequencer) Subscribed(now Time, refusal string, fx *Effects) {
	l.again = l.contest.subscribed(l.cfg, refusal) || l.again
	l.pump(now, fx)
}

// Drain turns all waiters away; what is to be given back is still given.
func (l *sequencer) Drain(now Time, fx *Effects) {
	l.contest.turnAway(l.cfg, Outcome{Why: Closed}, everyone)
	l.pump(now, fx)
}

// Waiting is how many callers wait for the name.
func (l *sequencer) Waiting() int { return int(l.contest.queue.n) }

// Message is news on the channel: that a latch has changed, or how many permits there are now, or how many came.
func (l *sequencer) Message(now Time, news News, fx *Effects) {
	if l.rivals.foreign(news) && (l.Kind == LatchKind || news.Most > 0) {
		l.heed(now, fx)
	}
}

// heed is a hint by a message. What nobody is granted by counts as a message in vain.
func (l *sequencer) heed(now Time, fx *Effects) {
	l.rivals.found(now, false)
	if now >= l.rivals.heedAt {
		l.hint(now, fx)
		return
	}
	l.contest.askAt, l.rivals.missed = min(l.contest.askAt, l.rivals.heedAt), l.out
	l.pump(now, fx)
}

// hint says that the next answer may be yes.
func (l *sequencer) hint(now Time, fx *Effects) {
	l.again = true
	l.pump(now, fx)
}

// Suspect is a change of the key by somebody else.
func (l *sequencer) Suspect(now Time, fx *Effects) { l.hint(now, fx) }

// LinkUp is the end of a break of the link.
func (l *sequencer) LinkUp(now Time, fx *Effects) {
	l.contest.askAt, l.callAt = min(l.contest.askAt, now), min(l.callAt, now)
	l.tries, l.changes.tries = 0, 0
	l.contest.hurry(now)
	l.hint(now, fx)
}

// Close is Drain, for good.
func (l *sequencer) Close(now Time, fx *Effects) {
	l.rivals.subscription.close()
	l.Drain(now, fx)
}

// Wake is the alarm.
func (l *sequencer) Wake(now Time, fx *Effects) {
	if now >= Centuries {
		l.end()
		return
	}
	if l.contest.queue.lasting() == 0 {
		l.rivals.expire(now, &l.Entry, fx)
	}
	l.pump(now, fx)
}

// end settles what nobody will work on any more.
func (l *sequencer) end() {
	l.contest.turnAway(l.cfg, Outcome{Why: Closed}, everyone)
	if l.call.Op != None && l.changes.n > 0 && (l.out || l.unsure != 0) {
		l.giveUp(Outcome{Why: Doubtful})
	}
	l.changes.settleAll(Outcome{Why: Down})
}

// NextAlarm is the first instant at which time alone changes something.
func (l *sequencer) NextAlarm() Time {
	at := l.rivals.linger
	switch {
	case l.out:
	case l.call.Op != None:
		at = min(at, l.callAt)
		if l.unsure != 0 {
			at = min(at, l.unsure+receiptTime)
		}
	case l.changes.queue != nil:
		at = min(at, l.callAt)
	case l.contest.queue.head != nil:
		at = min(at, l.contest.askTime(l.again))
	}
	return at
}

// Idle reports whether the entry can be forgotten.
func (l *sequencer) Idle() bool {
	return l.call.Op == None && l.contest.queue.head == nil && l.changes.queue == nil && l.rivals.state == unsubscribed
}
