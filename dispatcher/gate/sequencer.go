package gate

import "cmp"

// Sequencer is the machine of a name that is a count in Redis: a latch (latch.go), a semaphore (semaphore.go), or a semaphore with leases
// (permits.go). It has one call under way: a question for waiters, or a change. A call has a number. If its answer is lost, it is sent again
// under that number until Redis has said what it did (invariant: change-has-one-effect). Only then the next call is made.
type Sequencer struct {
	Entry
	cfg     *Config
	contest contest
	rivals  rivals
	changes changes

	call   Command // under way; Op None: there is none. Not in flight, it waits for callAt
	unsure Time    // when the call was first sent without getting an answer; 0: it never was
	denied Time    // when the call was first refused, for a reason that may pass; 0: it never was
	callAt Time    // when the call, or the next change, may be sent
	turn   uint8   // of sequencerTurns: the last call was its

	unassigned int64        // permits of a semaphore that were taken from Redis, and not granted
	giveAt     Time         // when unassigned permits may be given back
	permits    permits      // the holds of a semaphore with leases
	limit      int64        // that of the last caller that had one
	place      permitsPlace // in the line for permits
	collecting collecting

	othersUntil Time // until when permits are expected to be freed without a call
}

func newSequencer() Machine { return &Sequencer{} }

func (s *Sequencer) reset(cfg *Config) {
	*s = Sequencer{Entry: s.Entry, cfg: cfg, permits: permits{cfg: cfg, changes: &s.changes, ends: timed[*permit]{by: byEnd}}}
	s.contest.reset(&s.rivals)
}

// Ask is a caller that wants to be granted something. Redis is asked for a latch whatever earlier answers were.
func (s *Sequencer) Ask(now Time, w *Waiter, fx *Effects) {
	s.permits.endDue(now)
	s.again = s.again || s.Kind == LatchKind || w.Limit != 0 && w.Limit != s.limit
	s.limit = cmp.Or(w.Limit, s.limit)
	if w.Try && s.contest.queue.lasting() > 0 { // callers that wait come first
		s.cfg.Answer(w, Outcome{Why: Taken, TTL: -1, Absent: s.rivals.last.Absent})
		s.advance(now, fx)
		return
	}
	if s.contest.queue.head == nil {
		s.contest.askAt = min(s.contest.askAt, now)
		s.rivals.last = lastAnswer{Outcome: Outcome{Why: Down}}
	}
	if w.Try { // it does not wait for the end of a pause
		s.callAt, s.rivals.turns.ends = min(s.callAt, now), 0
	}
	w.asked = false
	s.contest.queue.push(w)
	s.advance(now, fx)
}

// Change is a caller that wants a change, which does not wait in the queue. Permits of a semaphore that were taken for a caller that has
// gone become unassigned instead.
func (s *Sequencer) Change(now Time, c Change, fx *Effects) {
	s.permits.endDue(now)
	switch {
	case c.Ack == InVain:
		s.unassigned += c.Args.Count().N
	case c.Op == PermitFree && s.permits.free(&c): // all of them were ours
	default:
		if !c.lasting() { // it does not wait for the end of a pause
			s.callAt = min(s.callAt, now)
		}
		s.changes.add(c)
	}
	s.advance(now, fx)
}

// advance sends the next call if one is due and none is on its way, and sets when the subscription ends. Every event ends with it.
func (s *Sequencer) advance(now Time, fx *Effects) {
	s.sendNext(now, fx)
	waiting := s.contest.queue.lasting() > 0
	s.rivals.setLinger(now, waiting && (s.rivals.listens || !s.Kind.InLine()))
	s.rivals.inbox.setLinger(now, waiting)
}

// sendNext sends the call that is due, if none is on its way: one without an answer again, a change, or a question.
func (s *Sequencer) sendNext(now Time, fx *Effects) {
	if s.flight != None {
		return
	}
	if s.call.Op != None {
		s.repeat(now, fx)
	}
	if s.call.Op != None {
		return
	}
	for range sequencerTurns {
		s.turn = (s.turn + 1) % uint8(len(sequencerTurns))
		if sequencerTurns[s.turn](s, now, fx) {
			return
		}
	}
}

// sequencerTurns send the next call of their sort, if one is due. They take turns: renewals without end, or changes without end, must not keep callers
// from changes, or from asking. Changes have two in a row: what comes while one is on its way is then in the question that follows. Late renewals have
// every second turn.
var sequencerTurns = [...]func(*Sequencer, Time, *Effects) (sent bool){
	(*Sequencer).sendQuestion, (*Sequencer).sendOwnChange, (*Sequencer).sendChange, (*Sequencer).sendLate, (*Sequencer).sendChange, (*Sequencer).sendLate,
}

// sendLate sends a renewal that is late.
func (s *Sequencer) sendLate(now Time, fx *Effects) bool {
	return s.permits.late(now) && s.sendOwnChange(now, fx)
}

// sendOwnChange sends a change that no caller asked for.
func (s *Sequencer) sendOwnChange(now Time, fx *Effects) bool {
	if now < s.callAt {
		return false
	}
	c, due := s.ownChange(now)
	if due {
		s.changes.own = []Change{c}
		s.sendNew(c.command(), fx)
	}
	return due
}

// sendChange sends the next change.
func (s *Sequencer) sendChange(now Time, fx *Effects) bool {
	due := s.changes.queue != nil && now >= s.callAt
	if due {
		s.sendNew(s.changes.next(), fx)
	}
	return due
}

// sendQuestion sends the question for the waiters, or gives up our place.
func (s *Sequencer) sendQuestion(now Time, fx *Effects) bool {
	switch {
	case s.changes.queue != nil && now < s.callAt:
		return false
	case s.place.permits != 0 && s.contest.queue.lasting() == 0:
		s.sendNew(s.leaveLine(now), fx)
		return true
	case s.contest.queue.head == nil:
		s.again = false
		return false
	case now < s.contest.askTime(s.again):
		return false
	}
	s.noteUncalled(now)
	s.again = false
	s.cfg.Stats.Attempts.Inc()
	s.sendNew(s.question(now), fx)
	return true
}

// ownChange is a change that no caller asked for, if one is due.
func (s *Sequencer) ownChange(now Time) (Change, bool) {
	if s.unassigned != 0 && now >= s.giveAt {
		return s.giveUnassigned(now), true
	}
	return s.permits.renewDue(now)
}

// question is the question for the waiters.
func (s *Sequencer) question(now Time) Command {
	if s.Kind == LatchKind {
		return askCount(&s.contest.queue)
	}
	return s.askPermits(now, false)
}

// sendNew sends a new call, under the next number.
func (s *Sequencer) sendNew(c Command, fx *Effects) {
	s.cfg.LastID++
	c.Entry, c.ID = &s.Entry, s.cfg.LastID
	if c.Op == PermitTake && !c.leavesLine() { // its permits have numbers, too: the first that of the call
		s.cfg.LastID--
		for _, one := range s.permits.asked {
			s.cfg.LastID += uint64(one.n)
		}
	}
	s.call, s.unsure, s.denied = c, 0, 0
	s.send(fx)
}

// send sends the call under way.
func (s *Sequencer) send(fx *Effects) {
	s.flight, s.call.Epoch = s.call.Op, s.cfg.Epoch
	*fx.add(s.call.Op) = s.call
}

// repeat sends a call without an answer again, or gives up.
func (s *Sequencer) repeat(now Time, fx *Effects) {
	switch {
	case s.unsure != 0 && now >= s.unsure+receiptTime:
		s.endCall(Outcome{Why: Doubtful})
	case now >= s.callAt:
		switch {
		case s.call.leavesLine():
		case s.call.Op == Take: // for those that wait now
			s.call.Args = s.askPermits(now, true).Args
		case s.call.Op == PermitTake: // the permits that it may have taken have its ids
			t := TakeArgs{Runs: s.call.Args.Take().Runs, Resent: true}
			s.askInLine(now, &t)
			s.call.Args = t.Args()
		}
		s.send(fx)
	}
}

// changing reports whether the call under way is a change.
func (s *Sequencer) changing() bool { return len(s.changes.underWay()) > 0 }

// endCall ends the call without an answer. Permits of a semaphore that it took are lost, and those that a lease has end by it.
func (s *Sequencer) endCall(out Outcome) {
	switch {
	case s.changing():
		s.changes.settle(out, 0)
	case s.call.Op == Take:
		s.contest.queue.dismiss(s.cfg, out, func(w *Waiter) bool { return w.asked })
	}
	s.call = Command{}
}

// EndWait answers a waiter. One that has its answer is left alone.
func (s *Sequencer) EndWait(now Time, w *Waiter, why Why, fx *Effects) {
	if w.queued {
		s.again = s.again || w.asked // the question may have been for more than the others want, and so may have taken nothing
		s.contest.queue.remove(w)
		s.cfg.Answer(w, w.endOutcome(why, s.contest.lastOutcome(now)))
	}
	s.advance(now, fx)
}

// Subscribed handles the confirmation of the name's channel or of our inbox, which comes again after a reconnect, or its refusal.
func (s *Sequencer) Subscribed(now Time, channel, refusal string, fx *Effects) {
	if s.rivals.isInbox(channel) {
		s.again = s.contest.subscribedToInbox(&s.Entry, s.cfg, refusal, fx) || s.again
	} else {
		s.again = s.contest.subscribed(refusal) || s.again
	}
	s.advance(now, fx)
}

// Dismiss answers and removes the waiters that chosen picks. Changes that give something back are still sent.
func (s *Sequencer) Dismiss(now Time, out Outcome, chosen func(*Waiter) bool, fx *Effects) {
	s.contest.queue.dismiss(s.cfg, out, chosen)
	s.advance(now, fx)
}

// Waiting is how many callers wait for the name.
func (s *Sequencer) Waiting() int { return int(s.contest.queue.n) }

// Message handles messages: a latch has changed, there are permits, or what the line for permits says.
func (s *Sequencer) Message(now Time, news News, fx *Effects) {
	switch {
	case s.rivals.isInbox(news.Channel):
		s.notified(now, news, fx)
	case s.Kind == LatchKind || news.Most > 0 && s.place.heeds() && !s.rests(now):
		s.rivals.turns.noteMessage(now)
		s.hinted(now, fx)
	}
}

// hinted handles a message. It counts as found nothing, until a caller is granted something.
func (s *Sequencer) hinted(now Time, fx *Effects) {
	s.rivals.noteFound(now, false)
	s.askAgain(now, fx)
}

// askAgain makes Redis be asked, because the answer may be yes now.
func (s *Sequencer) askAgain(now Time, fx *Effects) {
	s.again = true
	s.advance(now, fx)
}

// Suspect is a change of the key by another program. All holds are verified.
func (s *Sequencer) Suspect(now Time, fx *Effects) {
	s.permits.suspect(now)
	s.askAgain(now, fx)
}

// LinkUp is the end of an outage. All holds are verified, too.
func (s *Sequencer) LinkUp(now Time, fx *Effects) {
	s.permits.endDue(now)
	s.permits.suspect(now)
	s.contest.askAt, s.callAt, s.giveAt = min(s.contest.askAt, now), min(s.callAt, now), min(s.giveAt, now)
	s.tries, s.changes.tries = 0, 0
	s.contest.endPauses(now)
	s.askAgain(now, fx)
}

// Close ends all holds and dismisses all waiters, for good.
func (s *Sequencer) Close(now Time, fx *Effects) {
	for len(s.permits.held) > 0 {
		s.permits.lose(s.permits.held[0], Closed)
	}
	s.rivals.close()
	s.rivals.inbox.close()
	s.Dismiss(now, Outcome{Why: Closed}, everyone, fx)
}

// Wake handles the alarm.
func (s *Sequencer) Wake(now Time, fx *Effects) {
	s.permits.endDue(now)
	if now >= Centuries {
		s.settleAll()
		return
	}
	s.rivals.unsubscribeIdle(now, &s.Entry, fx)
	s.rivals.inbox.unsubscribeIdle(now, &s.Entry, fx)
	s.advance(now, fx)
}

// settleAll answers all callers that are left: the engine ends.
func (s *Sequencer) settleAll() {
	s.contest.queue.dismiss(s.cfg, Outcome{Why: Closed}, everyone)
	if s.call.Op != None && s.changing() && (s.flight != None || s.unsure != 0) {
		s.endCall(Outcome{Why: Doubtful})
	}
	s.changes.settleAll(Outcome{Why: Down})
}

// NextAlarm is when the machine must be woken if no event comes before.
func (s *Sequencer) NextAlarm() Time {
	at := min(s.rivals.nextAlarm(false), s.permits.ends.next())
	if s.call.Op == None {
		at = min(at, max(s.permits.due.next(), s.callAt))
		if s.unassigned > 0 {
			at = min(at, max(s.giveAt, s.callAt))
		}
	}
	switch {
	case s.flight != None:
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
func (s *Sequencer) Idle() bool {
	return s.call.Op == None && s.contest.queue.head == nil && s.changes.queue == nil && s.rivals.idle() && s.unassigned == 0 && len(s.permits.held) == 0
}
