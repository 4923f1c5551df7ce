package gate

// sequencer is the part that the machines of names without owners share: the waiters, the changes, and the one call under way. A call has a
// number. If its answer is lost, it is sent again under that number until Redis has said what it did (rule 22). Only then the next call is
// made.
type sequencer struct {
	Entry
	cfg     *Config
	contest contest
	rivals  rivals
	kind    countedKind
	changes changes

	call     Command // under way; Op None: there is none
	inFlight bool    // the call has left; else it waits for callAt
	unsure   Time    // when the call was first sent without getting an answer; 0: it never was
	denied   Time    // when the call was first refused, for a reason that may pass; 0: it never was
	callAt   Time    // when the call, or the next change, may be sent
}

// countedKind is the part that each kind has for itself.
type countedKind interface {
	ask() Command                            // the question for the head of the queue
	admit(now Time, c *Command, fx *Effects) // handles the answer to the question
	channel() func(string) string            // the channel of the name's messages
	updateQuestion(c *Command)               // the question is sent again: change it to what is wanted now
	ownChange(now Time) (Change, bool)       // a change that no caller asked for, if one is due
	dismissAsked()                           // the question will get no answer
	giveBack(c *Command)                     // the answer to the question is UnderReplicated
}

func (s *sequencer) reset(cfg *Config, r countedKind) {
	*s = sequencer{Entry: s.Entry, cfg: cfg, kind: r}
	s.contest.reset(cfg, &s.rivals)
}

// Ask is a caller that wants to be granted something.
func (s *sequencer) Ask(now Time, w *Waiter, fx *Effects) {
	if w.Try && s.contest.queue.lasting() > 0 { // callers that wait come first
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

// Change is a caller that wants a change, which does not wait in the queue.
func (s *sequencer) Change(now Time, c Change, fx *Effects) {
	if !c.lasting() { // it does not wait for the end of a pause
		s.callAt = min(s.callAt, now)
	}
	s.changes.queue = append(s.changes.queue, c)
	s.advance(now, fx)
}

// advance sends the next call if one is due and none is on its way, and sets when the subscription ends. Every event ends with it.
func (s *sequencer) advance(now Time, fx *Effects) {
	s.sendNext(now, fx)
	s.rivals.setLinger(now, s.contest.queue.lasting() > 0)
}

// sendNext sends the call that is due, if none is on its way: one without an answer again, a change, or a question.
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

// sendNew sends a new call, under the next number.
func (s *sequencer) sendNew(c Command, fx *Effects) {
	s.cfg.LastID++
	c.Entry, c.ID = &s.Entry, s.cfg.LastID
	if c.Op == PermitTake { // its permits have numbers, too
		s.cfg.LastID += uint64(c.Args.PermitTake().N) - 1
	}
	s.call, s.unsure, s.denied = c, 0, 0
	s.send(fx)
}

// send sends the call under way.
func (s *sequencer) send(fx *Effects) {
	s.inFlight = true
	if Operations[s.call.Op].publishes {
		s.rivals.notePublish()
	}
	*fx.add(s.call.Op) = s.call
}

// repeat sends a call without an answer again, or gives up.
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

// forget removes a waiter. The question may have been for more than the others want, and so may have taken nothing: Redis is asked again.
func (s *sequencer) forget(w *Waiter) (waited bool) {
	waited = w.queued
	s.again = s.again || waited && w.asked
	s.contest.queue.remove(w)
	return waited
}

// Abandon ends the wait of a caller that gives up.
func (s *sequencer) Abandon(now Time, w *Waiter, fx *Effects) { s.endWait(now, w, GaveUp, fx) }

// Timeout ends the wait of a caller when its Until has passed.
func (s *sequencer) Timeout(now Time, w *Waiter, fx *Effects) { s.endWait(now, w, TimedOut, fx) }

// endWait answers a waiter. One that has its answer is left alone.
func (s *sequencer) endWait(now Time, w *Waiter, why Why, fx *Effects) {
	if s.forget(w) {
		s.cfg.endWait(w, why, s.contest.lastOutcome(now))
	}
	s.advance(now, fx)
}

// Subscribed handles the confirmation of the name's channel, which comes again after a reconnect, or its refusal.
func (s *sequencer) Subscribed(now Time, refusal string, fx *Effects) {
	s.again = s.contest.subscribed(s.cfg, refusal) || s.again
	s.advance(now, fx)
}

// Drain dismisses all waiters. Changes that give something back are still sent.
func (s *sequencer) Drain(now Time, fx *Effects) {
	s.contest.dismiss(s.cfg, Outcome{Why: Closed}, everyone)
	s.advance(now, fx)
}

// Waiting is how many callers wait for the name.
func (s *sequencer) Waiting() int { return int(s.contest.queue.n) }

// Message handles messages: a latch has changed, or there are permits.
func (s *sequencer) Message(now Time, news News, fx *Effects) {
	if s.rivals.foreign(news) && (s.Kind == LatchKind || news.Most > 0) {
		s.hinted(now, fx)
	}
}

// hinted handles a message. It counts as found nothing, until a caller is granted something.
func (s *sequencer) hinted(now Time, fx *Effects) {
	s.rivals.noteFound(now, false)
	if now >= s.rivals.heedAt {
		s.askAgain(now, fx)
		return
	}
	s.contest.askAt, s.rivals.missed = min(s.contest.askAt, s.rivals.heedAt), s.inFlight
	s.advance(now, fx)
}

// askAgain makes Redis be asked, because the answer may be yes now.
func (s *sequencer) askAgain(now Time, fx *Effects) {
	s.again = true
	s.advance(now, fx)
}

// Suspect is a change of the key by another program.
func (s *sequencer) Suspect(now Time, fx *Effects) { s.askAgain(now, fx) }

// LinkUp is the end of an outage.
func (s *sequencer) LinkUp(now Time, fx *Effects) {
	s.contest.askAt, s.callAt = min(s.contest.askAt, now), min(s.callAt, now)
	s.tries, s.changes.tries = 0, 0
	s.contest.endPauses(now)
	s.askAgain(now, fx)
}

// Close dismisses all waiters, for good.
func (s *sequencer) Close(now Time, fx *Effects) {
	s.rivals.subscription.close()
	s.Drain(now, fx)
}

// Wake handles the alarm.
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

// settleAll answers all callers that are left: the engine ends.
func (s *sequencer) settleAll() {
	s.contest.dismiss(s.cfg, Outcome{Why: Closed}, everyone)
	if s.call.Op != None && s.changes.n > 0 && (s.inFlight || s.unsure != 0) {
		s.endCall(Outcome{Why: Doubtful})
	}
	s.changes.settleAll(Outcome{Why: Down})
}

// NextAlarm is when the machine must be woken if no event comes before.
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

// Idle reports whether the machine has nothing to do and nothing to remember.
func (s *sequencer) Idle() bool {
	return s.call.Op == None && s.contest.queue.head == nil && s.changes.queue == nil && s.rivals.state == unsubscribed
}
