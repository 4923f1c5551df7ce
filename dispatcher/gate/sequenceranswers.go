package gate

import (
	"time"

	"github.com/wheellock/wheellock/scripts"
)

// What a Sequencer does with the answer to its call.

// Answer handles the answer to the call: the call is settled, or sent again.
func (s *Sequencer) Answer(now Time, c *Command, fx *Effects) {
	s.flight = None
	s.permits.noteAnswer(now, c)
	fault := c.Reply.Fault()
	_, late := c.Reply.Late()
	switch {
	case c.Result == Unknown:
		s.unanswered(now, c)
	case c.Result == UnderReplicated:
		s.unreplicated(now, c)
	case c.Result == Answered && late: // this copy did nothing; an earlier one may have
		s.refusedLate(now, c)
	case c.Result == Answered && (fault == scripts.None || !s.doubtful(now, fault)):
		s.answered(now, c, fx)
	case s.unsure != 0: // this copy did nothing either
		s.callAt = now + s.pause()
		s.answerCallers(now, c)
	case s.changing():
		s.unchanged(now, c)
	default:
		s.unasked(now, c)
	}
	s.advance(now, fx)
}

// answered handles an answer of the script.
func (s *Sequencer) answered(now Time, c *Command, fx *Effects) {
	fault := c.Reply.Fault()
	switch {
	case !s.changing() && fault == scripts.None:
		s.call = Command{}
		s.again = s.again || s.unsure != 0 // the question that took something may have been for others
		s.admit(now, c, fx)
	case !s.changing():
		s.unasked(now, c)
	case fault != scripts.None && fault.Passing():
		s.unchanged(now, c)
	default:
		s.changes.tries = 0
		s.changes.answered(c, s.unsure != 0)
		s.call = Command{}
		s.again = s.again || s.contest.queue.head != nil && s.place.permits == 0 // else the line is called, perhaps before this answer
	}
}

// admit handles the answer to the question: it grants waiters what they want, or refuses the head of the queue.
func (s *Sequencer) admit(now Time, c *Command, fx *Effects) {
	s.contest.askAt = now // unless the head is refused
	if c.leavesLine() {
		return
	}
	s.notePlace(c)
	switch {
	case s.Kind == LatchKind:
		s.admitAtZero(now, c)
	case s.Kind == PermitKind:
		if vain := s.admitPermits(now, c); vain.Why != Granted {
			s.contest.grantedInVain(now, s.cfg, s.cfg.LastID, &s.tries, vain)
			return
		}
	default:
		s.admitTaken(now, c)
	}
	s.tries = 0
	s.again = s.again || c.Reply > 0 && c.PermitsPlace() != 0 // the place is gone, and more callers may wait
	if w := s.contest.queue.head; w != nil && w.asked && (!s.again || now < s.rivals.heedAt) {
		s.refused(now, w, c, fx)
	}
}

// grant grants a waiter what it wants. False: its caller has gone.
func (s *Sequencer) grant(now Time, w *Waiter) bool {
	s.contest.queue.remove(w)
	granted := s.cfg.Answer(w, Outcome{})
	if granted {
		s.cfg.Stats.Granted.Inc()
		s.rivals.noteFound(now, true)
		s.rivals.spins = 0
	}
	return granted
}

// refused handles an answer that w, the head of the queue, cannot be granted what it wants: the waiters sleep until a message, or the poll
// cap.
func (s *Sequencer) refused(now Time, w *Waiter, c *Command, fx *Effects) {
	s.cfg.Stats.Waits.Inc()
	out := Outcome{Why: Taken, TTL: -1, Absent: s.Kind != LatchKind && c.Reply.Absent()}
	ttl, held := c.Reply.Held() // when the first permit comes back if its hold is not renewed; negative: not known
	if s.Kind != PermitKind || !held || out.Absent {
		ttl = -1
	}
	if want := w.N; w.Try { // it does not sleep, nor do those that ask only once and want as much: they stand before all that wait
		out.TTL = ttl
		for next := w; w != nil && w.Try && w.asked; w = next {
			if next = w.next; w.N >= want {
				s.contest.queue.remove(w)
				s.cfg.Answer(w, out)
			}
		}
		return
	}
	s.rivals.theirs.ends = leaseEnd(now, ttl)
	s.contest.answerWaiters(s.cfg, out)
	sleep := s.cfg.sleep(ttl, s.cfg.LastID)
	if c.Asking { // what is published at a node that does not serve the name yet is not heard
		sleep = min(sleep, s.rivals.spin(s.contest.queue.n, true, s.cfg.LastID))
	}
	s.contest.askAt = now + sleep
	if s.Kind.InLine() {
		s.waitInLine(now, c, fx)
	} else {
		s.rivals.subscribe(&s.Entry, nil, fx)
	}
}

// unasked handles a question that surely took nothing, because it did not run.
func (s *Sequencer) unasked(now Time, c *Command) {
	s.call = Command{}
	s.answerCallers(now, c)
	s.contest.declined(now, s.cfg, c, &s.tries)
}

// unchanged handles a change that surely was not made. A lasting change is sent again.
func (s *Sequencer) unchanged(now Time, c *Command) {
	fault := c.Reply.Fault()
	passing := c.Result == Again || c.Result == Answered && fault.Passing()
	s.answerCallers(now, c)
	switch {
	case c.Result == NotSent && (s.changes.own != nil || !s.changes.first().lasting()):
		s.endCall(unprovedOutcome(c))
	case c.Result == NotSent: // the next call may add up more of them
		s.changes.n, s.call = 0, Command{}
	case !passing || !s.changes.first().lasting() || s.denied != 0 && now >= s.denied+refusalTime:
		s.endCall(refusal(c))
	default:
		if s.denied == 0 {
			s.denied = now
		}
		s.callAt = now + s.pause()
	}
}

// unanswered handles a lost answer: the call is sent again until there is one.
func (s *Sequencer) unanswered(now Time, c *Command) {
	if s.unsure == 0 {
		s.unsure = c.Sent
		s.call.LeaveBy = c.Sent + receiptTime // it may wait long for a connection, or the loop may stand still
	}
	s.markPlace(c)
	s.cfg.Stats.Uncertain.Inc()
	s.callAt = now + s.pause()
	s.contest.answerWaiters(s.cfg, unprovedOutcome(c))
}

// unreplicated handles a call that ran, but that too few replicas acknowledged. What it took goes back.
func (s *Sequencer) unreplicated(now Time, c *Command) {
	s.call = Command{}
	if s.changing() {
		s.changes.settle(Outcome{Why: NotReplicated}, 0)
		return
	}
	s.contest.grantedInVain(now, s.cfg, s.cfg.LastID, &s.tries, Outcome{Why: NotReplicated})
	switch s.Kind {
	case SemaphoreKind:
		s.unassigned += int64(c.Reply)
	case PermitKind:
		s.admitPermits(Never, c) // frees what c took
	}
}

// answerCallers answers the callers that do not wait, after a call that surely did not run.
func (s *Sequencer) answerCallers(now Time, c *Command) {
	if c.Result != NotSent {
		out := refusal(c)
		s.contest.dismissTries(s.cfg, out, false)
		s.contest.note(s.cfg, out)
		return
	}
	out := unprovedOutcome(c)
	s.contest.answerWaiters(s.cfg, out)
	s.changes.dismiss(out)
	s.callAt = now + deniedPause
}

// doubtful reports whether an earlier copy of the call may still run, or may have run in spite of this fault. A question writes even if it
// only repeats what it took before, so the fault that writes are refused does not say what it took.
func (s *Sequencer) doubtful(now Time, fault scripts.Fault) bool {
	return s.unsure != 0 && (now < lateAfter(s.unsure) || !s.changing() && fault.Passing())
}

// refusedLate handles a call that came to Redis too late. The answer has told the engine the server's clock, so the call is sent again at
// once, and after a pause if that fails, too.
func (s *Sequencer) refusedLate(now Time, c *Command) {
	out, pause := declinedOutcome(c, s.retries())
	s.callAt = now + pause
	s.contest.answerWaiters(s.cfg, out)
}

// retries counts the failures in a row of calls like the one under way.
func (s *Sequencer) retries() *retries {
	if s.changing() {
		return &s.changes.tries
	}
	return &s.tries
}

// pause is the pause before the next attempt at the call under way.
func (s *Sequencer) pause() time.Duration {
	pause := s.retries().next(s.cfg.LastID)
	if s.changing() && s.call.LeaseTime > 0 {
		return within(pause, s.call.LeaseTime)
	}
	return pause
}
