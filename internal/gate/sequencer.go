package gate

import (
	"time"

	"github.com/wheellock/wheellock/scripts"
)

// sequencer is what the machines of names without owners share: who waits, what is to be changed, and the one
// call that is under way. A call has a number, and whatever happens to its answer it is sent again under
// that number until Redis has said what it did (rule 22); only then comes the next.
type sequencer struct {
	waiting
	own     ample
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
	ask(now Time) Command                    // the question for those at the head of the queue; Op None: nothing to ask
	heard(now Time, c *Command, fx *Effects) // its answer
	channel() func(string) string            // where news is announced
	reask(now Time, c *Command)              // the question is sent again: change it to what is wanted now
	left(now Time) (Change, bool)            // what is to be changed besides what was asked for
	lost(now Time)                           // its answer will never come
	giveBack(c *Command)                     // its answer is UnderReplicated
}

func (l *sequencer) reset(cfg *Config, r countedKind) {
	*l = sequencer{waiting: l.waiting, kind: r}
	l.begin(cfg, &l.own)
}

// Ask is a caller that wants in.
func (l *sequencer) Ask(now Time, w *Waiter, fx *Effects) {
	if w.Try && l.queue.lasting() > 0 { // those who wait come first
		l.cfg.Answer(w, Outcome{Why: Taken, TTL: -1})
		return
	}
	if l.queue.head == nil {
		l.askAt = min(l.askAt, now)
		l.contention.last.forget()
	}
	if w.Try { // it does not wait for the end of a pause
		l.callAt = min(l.callAt, now)
	}
	w.asked = false
	l.queue.push(w)
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
	l.thin(now)
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
	if c, any := l.kind.left(now); any {
		l.changes.queue = append([]Change{c}, l.changes.queue...)
	}
	switch {
	case l.changes.queue != nil:
		if now >= l.callAt {
			l.start(l.changes.next(), fx)
		}
	case l.queue.head == nil:
		l.again = false
	case now >= l.askTime():
		l.again = false
		if c := l.kind.ask(now); c.Op != None {
			l.cfg.Stats.Attempts.Inc()
			l.start(c, fx)
		}
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
	if l.call.Op == Give || l.call.Op == PermitFree {
		l.contention.publishing()
	}
	*fx.add(l.call.Op) = l.call
}

// repeat sends the call that is not settled once more, or gives it up.
func (l *sequencer) repeat(now Time, fx *Effects) {
	switch {
	case l.unsure != 0 && now >= l.unsure+receiptTime:
		l.giveUp(now, Outcome{Why: Doubtful})
	case now >= l.callAt:
		if l.changes.n == 0 { // the same question, for those who wait now
			l.kind.reask(now, &l.call)
		}
		l.send(fx)
	}
}

// giveUp ends the call without an answer.
func (l *sequencer) giveUp(now Time, out Outcome) {
	if l.changes.n > 0 {
		l.changes.settle(out)
	} else {
		l.kind.lost(now)
	}
	l.call = Command{}
}

// Answer is the call coming back.
func (l *sequencer) Answer(now Time, c *Command, fx *Effects) {
	l.out = false
	if c.Op == Give || c.Op == PermitFree {
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

// doubtful reports whether an earlier copy of the call may still run, or may have run in spite of this fault: a question
// that took something writes also when it is asked again, so a server that refuses writes does not say what it took.
func (l *sequencer) doubtful(now Time, fault scripts.Fault) bool {
	return l.unsure != 0 && (now < l.unsure+LateWindow+250*time.Millisecond || l.changes.n == 0 && fault.Passing())
}

// unpublish is a Give coming back: its message is known as ours, or was none.
func (l *sequencer) unpublish(c *Command) {
	reply := c.Reply
	if !c.ran() {
		reply = 0
	}
	if _, sure := l.contention.heardBy(reply); !sure {
		l.again = l.queue.head != nil
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
	l.tell(Outcome{Why: Doubtful})
}

// unreplicated is a call that ran, but too few replicas have what it did. What it took goes back.
func (l *sequencer) unreplicated(now Time, c *Command) {
	l.call = Command{}
	if l.changes.n > 0 {
		l.changes.settle(Outcome{Why: TooFew})
		return
	}
	l.gaveBack(now, l.cfg.LastID, &l.tries, Outcome{Why: TooFew})
	l.kind.giveBack(c)
}

// unavailable tells those who ask only once that there is nobody to answer.
func (l *sequencer) unavailable(now Time, c *Command) {
	if c.Result != NotSent {
		out := refusal(c)
		l.turnAway(out, triesOnce)
		l.note(out)
		return
	}
	l.tell(Outcome{Why: Down})
	l.changes.turnAway(Outcome{Why: Down})
	l.callAt = now + deniedPause
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
		l.again = l.queue.head != nil
	}
}

// unchanged is a change that surely was not made. Those that last are tried again.
func (l *sequencer) unchanged(now Time, c *Command) {
	fault := c.Reply.Fault()
	passing := c.Result == Again || c.Result == Answered && fault.Passing()
	l.unavailable(now, c)
	switch {
	case !l.changes.queue[0].lasting() && c.Result == NotSent:
		l.giveUp(now, Outcome{Why: Down})
	case c.Result == NotSent: // as if it had not been tried: by the next time there may be more of it
		l.changes.n, l.call = 0, Command{}
	case !passing || !l.changes.queue[0].lasting() || l.denied != 0 && now >= l.denied+refusalTime:
		l.giveUp(now, refusal(c))
	default:
		if l.denied == 0 {
			l.denied = now
		}
		l.callAt = now + l.pause()
	}
}

// unasked is a question that surely took nothing, for another reason than that there is nothing.
func (l *sequencer) unasked(now Time, c *Command) {
	l.call = Command{}
	l.unavailable(now, c)
	l.declined(now, c, &l.tries)
}

// refused is an answer that those at the head cannot be served: they sleep until news comes, or the poll cap. ttl is
// when the first of the held permits comes back, if nobody renews it; negative: that is not known.
func (l *sequencer) refused(now Time, ttl time.Duration, fx *Effects) {
	l.cfg.Stats.Waits.Inc()
	l.tries, l.contention.theirs.ends = 0, leaseEnd(now, ttl)
	l.tell(Outcome{Why: Taken, TTL: -1})
	l.askAt = now + l.cfg.PollCap - jitter(l.cfg.LastID, l.cfg.PollCap/4)
	if l.contention.missed {
		l.contention.missed, l.askAt = false, min(l.askAt, max(now, l.contention.heedAt))
	}
	l.contention.want(&l.Entry, l.kind.channel(), fx)
}
