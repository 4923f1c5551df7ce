package gate

import (
	"time"

	"github.com/wheellock/wheellock/scripts"
)

// Answer is the call coming back. It is settled, or sent again until it is.
func (s *sequencer) Answer(now Time, c *Command, fx *Effects) {
	s.inFlight = false
	if Operations[c.Op].publishes {
		s.published(c)
	}
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
	case s.changes.n > 0:
		s.unchanged(now, c)
	default:
		s.unasked(now, c)
	}
	s.advance(now, fx)
}

// answered is an answer of the script.
func (s *sequencer) answered(now Time, c *Command, fx *Effects) {
	fault := c.Reply.Fault()
	switch {
	case s.changes.n == 0 && fault == scripts.None:
		s.call = Command{}
		s.again = s.again || s.unsure != 0 // it may be the answer to a question for others
		s.kind.admit(now, c, fx)
	case s.changes.n == 0:
		s.unasked(now, c)
	case fault != scripts.None && fault.Passing():
		s.unchanged(now, c)
	default:
		s.changes.tries = 0
		s.changes.settle(changed(c))
		s.call = Command{}
		s.again = s.contest.queue.head != nil
	}
}

// refused is an answer that those at the head cannot be served: they sleep until news comes, or the poll cap. ttl is
// when the first of the held permits comes back, if nobody renews it; negative: that is not known.
func (s *sequencer) refused(now Time, ttl time.Duration, fx *Effects) {
	s.cfg.Stats.Waits.Inc()
	s.tries, s.rivals.theirs.ends = 0, leaseEnd(now, ttl)
	s.contest.answerWaiters(s.cfg, Outcome{Why: Taken, TTL: -1})
	s.contest.askAt = now + s.cfg.sleep(ttl, s.cfg.LastID)
	if s.rivals.missed {
		s.rivals.missed, s.contest.askAt = false, min(s.contest.askAt, max(now, s.rivals.heedAt))
	}
	s.rivals.subscribe(&s.Entry, s.kind.channel(), fx)
}

// unasked is a question that surely took nothing, for another reason than that there is nothing.
func (s *sequencer) unasked(now Time, c *Command) {
	s.call = Command{}
	s.answerCallers(now, c)
	s.contest.declined(now, s.cfg, c, &s.tries)
}

// unchanged is a change that surely was not made. Those that last are tried again.
func (s *sequencer) unchanged(now Time, c *Command) {
	fault := c.Reply.Fault()
	passing := c.Result == Again || c.Result == Answered && fault.Passing()
	s.answerCallers(now, c)
	switch {
	case !s.changes.queue[0].lasting() && c.Result == NotSent:
		s.endCall(unprovedOutcome(c))
	case c.Result == NotSent: // as if it had not been tried: by the next time there may be more of it
		s.changes.n, s.call = 0, Command{}
	case !passing || !s.changes.queue[0].lasting() || s.denied != 0 && now >= s.denied+refusalTime:
		s.endCall(refusal(c))
	default:
		if s.denied == 0 {
			s.denied = now
		}
		s.callAt = now + s.pause()
	}
}

// unanswered is an answer that was lost: the call is sent again until there is one.
func (s *sequencer) unanswered(now Time, c *Command) {
	if s.unsure == 0 {
		s.unsure = c.Sent
		s.call.LeaveBy = c.Sent + receiptTime // it may wait long for a connection, or the loop may stand still
	}
	s.cfg.Stats.Uncertain.Inc()
	s.callAt = now + s.pause()
	s.contest.answerWaiters(s.cfg, unprovedOutcome(c))
}

// unreplicated is a call that ran, but too few replicas have what it did. What it took goes back.
func (s *sequencer) unreplicated(now Time, c *Command) {
	s.call = Command{}
	if s.changes.n > 0 {
		s.changes.settle(Outcome{Why: NotReplicated})
		return
	}
	s.contest.grantedInVain(now, s.cfg, s.cfg.LastID, &s.tries, Outcome{Why: NotReplicated})
	s.kind.giveBack(c)
}

// answerCallers tells the callers that ask only once that there is nobody to answer.
func (s *sequencer) answerCallers(now Time, c *Command) {
	if c.Result != NotSent {
		out := refusal(c)
		s.contest.dismiss(s.cfg, out, triesOnce)
		s.contest.note(s.cfg, out)
		return
	}
	out := unprovedOutcome(c)
	s.contest.answerWaiters(s.cfg, out)
	s.changes.dismiss(out)
	s.callAt = now + deniedPause
}

// doubtful reports whether an earlier copy of the call may still run, or may have run in spite of this fault: a question
// that took something writes also when it is asked again, so a server that refuses writes does not say what it took.
func (s *sequencer) doubtful(now Time, fault scripts.Fault) bool {
	return s.unsure != 0 && (now < lateAfter(s.unsure) || s.changes.n == 0 && fault.Passing())
}

// published is a Give coming back: its message is known as ours, or was none.
func (s *sequencer) published(c *Command) {
	reply := c.Reply
	if !c.ran() {
		reply = 0
	}
	if _, sure := s.rivals.otherListeners(reply); !sure {
		s.again = s.contest.queue.head != nil
	}
}

// refusedLate is a call that came to Redis too late: the server's clock is known by then, and it is sent again at once,
// after a pause if that was in vain.
func (s *sequencer) refusedLate(now Time, c *Command) {
	out, pause := declinedOutcome(c, s.retries())
	s.callAt = now + pause
	s.contest.answerWaiters(s.cfg, out)
}

// retries counts the attempts at the call under way, or at others like it.
func (s *sequencer) retries() *retries {
	if s.changes.n > 0 {
		return &s.changes.tries
	}
	return &s.tries
}

// pause is how long to wait before the next attempt at the call under way.
func (s *sequencer) pause() time.Duration {
	pause := s.retries().next(s.cfg.LastID)
	if s.changes.n > 0 && s.call.Lease > 0 {
		return within(pause, s.call.Lease)
	}
	return pause
}
