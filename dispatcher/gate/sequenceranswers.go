package gate

import (
	"time"

	"github.com/wheellock/wheellock/scripts"
)

// Answer is the call coming back. It is settled, or sent again until it is.
func (l *sequencer) Answer(now Time, c *Command, fx *Effects) {
	l.out = false
	if Operations[c.Op].publishes {
		l.unpublish(c)
	}
	fault := c.Reply.Fault()
	_, late := c.Reply.Late()
	switch {
	case c.Result == Unknown:
		l.unanswered(now, c)
	case c.Result == UnderReplicated:
		l.unreplicated(now, c)
	case c.Result == Answered && late: // this copy did nothing; an earlier one may have
		l.late(now, c)
	case c.Result == Answered && (fault == scripts.None || !l.doubtful(now, fault)):
		l.answered(now, c, fx)
	case l.unsure != 0: // this copy did nothing either
		l.callAt = now + l.pause()
		l.unavailable(now, c)
	case l.changes.n > 0:
		l.unchanged(now, c)
	default:
		l.unasked(now, c)
	}
	l.pump(now, fx)
}

// answered is an answer of the script.
func (l *sequencer) answered(now Time, c *Command, fx *Effects) {
	fault := c.Reply.Fault()
	switch {
	case l.changes.n == 0 && fault == scripts.None:
		l.call = Command{}
		l.again = l.again || l.unsure != 0 // it may be the answer to a question for others
		l.kind.heard(now, c, fx)
	case l.changes.n == 0:
		l.unasked(now, c)
	case fault != scripts.None && fault.Passing():
		l.unchanged(now, c)
	default:
		l.changes.tries = 0
		l.changes.settle(changed(c))
		l.call = Command{}
		l.again = l.contest.queue.head != nil
	}
}

// refused is an answer that those at the head cannot be served: they sleep until news comes, or the poll cap. ttl is
// when the first of the held permits comes back, if nobody renews it; negative: that is not known.
func (l *sequencer) refused(now Time, ttl time.Duration, fx *Effects) {
	l.cfg.Stats.Waits.Inc()
	l.tries, l.rivals.theirs.ends = 0, leaseEnd(now, ttl)
	l.contest.tell(l.cfg, Outcome{Why: Taken, TTL: -1})
	l.contest.askAt = now + l.cfg.sleep(ttl, l.cfg.LastID)
	if l.rivals.missed {
		l.rivals.missed, l.contest.askAt = false, min(l.contest.askAt, max(now, l.rivals.heedAt))
	}
	l.rivals.want(&l.Entry, l.kind.channel(), fx)
}

// unasked is a question that surely took nothing, for another reason than that there is nothing.
func (l *sequencer) unasked(now Time, c *Command) {
	l.call = Command{}
	l.unavailable(now, c)
	l.contest.declined(now, l.cfg, c, &l.tries)
}

// unchanged is a change that surely was not made. Those that last are tried again.
func (l *sequencer) unchanged(now Time, c *Command) {
	fault := c.Reply.Fault()
	passing := c.Result == Again || c.Result == Answered && fault.Passing()
	l.unavailable(now, c)
	switch {
	case !l.changes.queue[0].lasting() && c.Result == NotSent:
		l.giveUp(unprovedOutcome(c))
	case c.Result == NotSent: // as if it had not been tried: by the next time there may be more of it
		l.changes.n, l.call = 0, Command{}
	case !passing || !l.changes.queue[0].lasting() || l.denied != 0 && now >= l.denied+refusalTime:
		l.giveUp(refusal(c))
	default:
		if l.denied == 0 {
			l.denied = now
		}
		l.callAt = now + l.pause()
	}
}

// unanswered is an answer that was lost: the call is sent again until there is one.
func (l *sequencer) unanswered(now Time, c *Command) {
	if l.unsure == 0 {
		l.unsure = c.Sent
		l.call.LeaveBy = c.Sent + receiptTime // it may wait long for a connection, or the loop may stand still
	}
	l.cfg.Stats.Uncertain.Inc()
	l.callAt = now + l.pause()
	l.contest.tell(l.cfg, unprovedOutcome(c))
}

// unreplicated is a call that ran, but too few replicas have what it did. What it took goes back.
func (l *sequencer) unreplicated(now Time, c *Command) {
	l.call = Command{}
	if l.changes.n > 0 {
		l.changes.settle(Outcome{Why: TooFew})
		return
	}
	l.contest.gaveBack(now, l.cfg, l.cfg.LastID, &l.tries, Outcome{Why: TooFew})
	l.kind.giveBack(c)
}

// unavailable tells the callers that ask only once that there is nobody to answer.
func (l *sequencer) unavailable(now Time, c *Command) {
	if c.Result != NotSent {
		out := refusal(c)
		l.contest.turnAway(l.cfg, out, triesOnce)
		l.contest.note(l.cfg, out)
		return
	}
	out := unprovedOutcome(c)
	l.contest.tell(l.cfg, out)
	l.changes.turnAway(out)
	l.callAt = now + deniedPause
}

// doubtful reports whether an earlier copy of the call may still run, or may have run in spite of this fault: a question
// that took something writes also when it is asked again, so a server that refuses writes does not say what it took.
func (l *sequencer) doubtful(now Time, fault scripts.Fault) bool {
	return l.unsure != 0 && (now < lateAfter(l.unsure) || l.changes.n == 0 && fault.Passing())
}

// unpublish is a Give coming back: its message is known as ours, or was none.
func (l *sequencer) unpublish(c *Command) {
	reply := c.Reply
	if !c.ran() {
		reply = 0
	}
	if _, sure := l.rivals.heardBy(reply); !sure {
		l.again = l.contest.queue.head != nil
	}
}

// late is a call that came to Redis too late: the server's clock is known by then, and it is sent again at once,
// after a pause if that was in vain.
func (l *sequencer) late(now Time, c *Command) {
	out, pause := declined(c, l.retries())
	l.callAt = now + pause
	l.contest.tell(l.cfg, out)
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
