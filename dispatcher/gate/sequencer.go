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

	call     Command // under way; Op None: nothing is
	inFlight bool    // it is on its way; else it waits for callAt
	unsure   Time    // when it was sent and got no answer first; 0: it never did
	denied   Time    // when it was refused first, for a reason that may pass; 0: it never was
	callAt   Time    // when it, or the next change, may be sent
}

// countedKind is what differs between the kinds.
type countedKind interface {
	ask() Command                            // the question for those at the head of the queue
	admit(now Time, c *Command, fx *Effects) // its answer
	channel() func(string) string            // where news is announced
	updateQuestion(c *Command)               // the question is sent again: change it to what is wanted now
	ownChange(now Time) (Change, bool)       // what is to be changed besides what was asked for
	dismissAsked()                           // its answer will never come
	giveBack(c *Command)                     // its answer is UnderReplicated
}

func (s *sequencer) reset(cfg *Config, r countedKind) {
	*s = sequencer{Entry: s.Entry, cfg: cfg, kind: r}
	s.contest.begin(cfg, &s.rivals)
}

// Ask is a caller that wants in.
func (s *sequencer) Ask(now Time, w *Waiter, fx *Effects) {
	if w.Try && s.contest.queue.lasting() > 0 { // those that wait come first
		s.cfg.Answer(w, Outcome{Why: Taken, TTL: -1})
		return
	}
	if s.contest.queue.head == nil {
		s.contest.askAt = min(s.contest.askAt, now)
		s.rivals.last = lastAnswer{Outcome: Outcome{Why: Down}}
	}
	if w.Try { // it does not wait for the end of a pause
		s.callAt = min(s.callAt, now)
	}
	w.asked = false
	s.contest.queue.push(w)
	s.advance(now, fx)
}

// Change is a call that does not wait in line.
func (s *sequencer) Change(now Time, c Change, fx *Effects) {
	if !c.lasting() { // it does not wait for the end of a pause
		s.callAt = min(s.callAt, now)
	}
	s.changes.queue = append(s.changes.queue, c)
	s.advance(now, fx)
}

// advance sends the next call, if one is due and none is on its way, and notes whether anybody still has to listen.
// Every event ends with it.
func (s *sequencer) advance(now Time, fx *Effects) {
	s.sendNext(now, fx)
	s.rivals.setLinger(now, s.contest.queue.lasting() > 0)
}

func (s *sequencer) sendNext(now Time, fx *Effects) {
	if s.inFlight {
		return
	}
	if s.call.Op != None {
		s.repeat(now, fx)
	}
	if s.call.Op != None {
		return
	}
	if c, due := s.kind.ownChange(now); due {
		s.changes.queue = append([]Change{c}, s.changes.queue...)
	}
	switch {
	case s.changes.queue != nil:
		if now >= s.callAt {
			s.sendNew(s.changes.next(), fx)
		}
	case s.contest.queue.head == nil:
		s.again = false
	case now >= s.contest.askTime(s.again):
		s.again = false
		s.cfg.Stats.Attempts.Inc()
		s.sendNew(s.kind.ask(), fx)
	}
}

func (s *sequencer) sendNew(c Command, fx *Effects) {
	s.cfg.LastID++
	c.Entry, c.ID = &s.Entry, s.cfg.LastID
	if c.Op == PermitTake { // it gives numbers to its ids
		s.cfg.LastID += uint64(c.Args.PermitTake().N) - 1
	}
	s.call, s.unsure, s.denied = c, 0, 0
	s.send(fx)
}

func (s *sequencer) send(fx *Effects) {
	s.inFlight = true
	if Operations[s.call.Op].publishes {
		s.rivals.notePublish()
	}
	*fx.add(s.call.Op) = s.call
}

// repeat sends the call that is not settled once more, or gives it up.
func (s *sequencer) repeat(now Time, fx *Effects) {
	switch {
	case s.unsure != 0 && now >= s.unsure+receiptTime:
		s.endCall(Outcome{Why: Doubtful})
	case now >= s.callAt:
		if s.changes.n == 0 { // the same question, for those that wait now
			s.kind.updateQuestion(&s.call)
		}
		s.send(fx)
	}
}

// endCall ends the call without an answer.
func (s *sequencer) endCall(out Outcome) {
	if s.changes.n > 0 {
		s.changes.settle(out)
	} else {
		s.kind.dismissAsked()
	}
	s.call = Command{}
}

// forget takes out a waiter. Redis may have been asked for more than is wanted now, and so have given nothing: those behind
// are asked for anew.
func (s *sequencer) forget(w *Waiter) (waited bool) {
	waited = w.queued
	s.again = s.again || waited && w.asked
	s.contest.queue.remove(w)
	return waited
}

// Abandon gives up a waiter: its caller waits no longer.
func (s *sequencer) Abandon(now Time, w *Waiter, fx *Effects) { s.endWait(now, w, GaveUp, fx) }

// Timeout gives up a waiter that has waited until its Until.
func (s *sequencer) Timeout(now Time, w *Waiter, fx *Effects) { s.endWait(now, w, TimedOut, fx) }

// endWait answers a waiter that waits no longer. One that has had its answer is left alone.
func (s *sequencer) endWait(now Time, w *Waiter, why Why, fx *Effects) {
	if s.forget(w) {
		s.cfg.endWait(w, why, s.contest.lastOutcome(now))
	}
	s.advance(now, fx)
}

// Subscribed is the subscription being confirmed, perhaps again after a reconnect, or refused.
func (s *sequencer) Subscribed(now Time, refusal string, fx *Effects) {
	s.again = s.contest.subscribed(s.cfg, refusal) || s.again
	s.advance(now, fx)
}

// Drain turns all waiters away; what is to be given back is still given.
func (s *sequencer) Drain(now Time, fx *Effects) {
	s.contest.dismiss(s.cfg, Outcome{Why: Closed}, everyone)
	s.advance(now, fx)
}

// Waiting is how many callers wait for the name.
func (s *sequencer) Waiting() int { return int(s.contest.queue.n) }

// Message is news on the channel: that a latch has changed, or how many permits there are now, or how many came.
func (s *sequencer) Message(now Time, news News, fx *Effects) {
	if s.rivals.foreign(news) && (s.Kind == LatchKind || news.Most > 0) {
		s.hinted(now, fx)
	}
}

// hinted is a hint by a message. What nobody is granted by counts as a message in vain.
func (s *sequencer) hinted(now Time, fx *Effects) {
	s.rivals.noteFound(now, false)
	if now >= s.rivals.heedAt {
		s.askAgain(now, fx)
		return
	}
	s.contest.askAt, s.rivals.missed = min(s.contest.askAt, s.rivals.heedAt), s.inFlight
	s.advance(now, fx)
}

// askAgain says that the next answer may be yes.
func (s *sequencer) askAgain(now Time, fx *Effects) {
	s.again = true
	s.advance(now, fx)
}

// Suspect is a change of the key by somebody else.
func (s *sequencer) Suspect(now Time, fx *Effects) { s.askAgain(now, fx) }

// LinkUp is the end of a break of the link.
func (s *sequencer) LinkUp(now Time, fx *Effects) {
	s.contest.askAt, s.callAt = min(s.contest.askAt, now), min(s.callAt, now)
	s.tries, s.changes.tries = 0, 0
	s.contest.endPauses(now)
	s.askAgain(now, fx)
}

// Close is Drain, for good.
func (s *sequencer) Close(now Time, fx *Effects) {
	s.rivals.subscription.close()
	s.Drain(now, fx)
}

// Wake is the alarm.
func (s *sequencer) Wake(now Time, fx *Effects) {
	if now >= Centuries {
		s.settleAll()
		return
	}
	if s.contest.queue.lasting() == 0 {
		s.rivals.unsubscribeIdle(now, &s.Entry, fx)
	}
	s.advance(now, fx)
}

// settleAll settles what nobody will work on any more.
func (s *sequencer) settleAll() {
	s.contest.dismiss(s.cfg, Outcome{Why: Closed}, everyone)
	if s.call.Op != None && s.changes.n > 0 && (s.inFlight || s.unsure != 0) {
		s.endCall(Outcome{Why: Doubtful})
	}
	s.changes.settleAll(Outcome{Why: Down})
}

// NextAlarm is the first instant at which time alone changes something.
func (s *sequencer) NextAlarm() Time {
	at := s.rivals.linger
	switch {
	case s.inFlight:
	case s.call.Op != None:
		at = min(at, s.callAt)
		if s.unsure != 0 {
			at = min(at, s.unsure+receiptTime)
		}
	case s.changes.queue != nil:
		at = min(at, s.callAt)
	case s.contest.queue.head != nil:
		at = min(at, s.contest.askTime(s.again))
	}
	return at
}

// Idle reports whether the entry can be forgotten.
func (s *sequencer) Idle() bool {
	return s.call.Op == None && s.contest.queue.head == nil && s.changes.queue == nil && s.rivals.state == unsubscribed
}
