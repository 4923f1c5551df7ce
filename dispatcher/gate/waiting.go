package gate

// waiting is the part that all kinds share: the queue of callers, the last answer from Redis, the time of the next question,
// the outcome of a caller that gives up, and the subscription to unlock messages. The machine of every kind is built around one.
//
// A Mutex, of which there may be a million, borrows its wait state while somebody waits and makes its contention state
// when callers compete. The other kinds have both from the beginning (ample).
type waiting struct {
	Entry
	*waitState             // the waiters; noWaiters: none
	cfg        *Config     // shared by all names
	contention *contention // nil: there has been no contention
	askAt      Time        // when the next acquire, or in a Mutex the repetition of a release, may leave
}

// ample is the wait state and the contention state of a machine that always has both.
type ample struct {
	waitState
	contention
}

// begin makes q as new, but for its entry, with the states of own.
func (q *waiting) begin(cfg *Config, own *ample) {
	*own = ample{contention: contention{subscription: newSubscription(cfg), keep: Never}}
	*q = waiting{Entry: q.Entry, waitState: &own.waitState, cfg: cfg, contention: &own.contention}
}

// contended is q's contention state, made if there was none.
func (q *waiting) contended() *contention {
	if q.contention == nil {
		q.contention = &contention{subscription: newSubscription(q.cfg), keep: Never}
	}
	return q.contention
}

// ownWaitState is the waitState of q, to be written to.
func (q *waiting) ownWaitState() *waitState {
	if q.waitState == &noWaiters {
		q.waitState = q.cfg.takeWaitState()
	}
	return q.waitState
}

// returnWaitState gives a waitState that was borrowed back when nobody waits. A fair lock keeps its own, with its queue.
func (q *waiting) returnWaitState() {
	s := q.waitState
	if s.queue.head != nil || s.queue.fair != nil || s.ack != nil {
		return
	}
	q.waitState = &noWaiters
	q.cfg.putWaitState(s)
}

// owe has ack, which may be nil, hear of the release.
func (q *waiting) owe(ack Settler) {
	if ack != nil {
		q.ownWaitState().owe(ack)
	}
}

// turnAway answers every waiter that chosen picks and forgets it.
func (q *waiting) turnAway(out Outcome, chosen func(*Waiter) bool) {
	for w := q.queue.head; w != nil; {
		next := w.next
		if chosen(w) {
			q.queue.remove(w)
			q.cfg.Answer(w, out)
		}
		w = next
	}
}

// tell passes an answer on to the callers that ask only once, and to all if it is no use to wait. It is noted for those that
// go on waiting.
func (q *waiting) tell(out Outcome) {
	if out.Why == Granted { // nothing is to be said yet
		return
	}
	q.turnAway(out, func(w *Waiter) bool { return w.Try || out.final() })
	q.note(out)
}

// note keeps an answer for the waiters: they are told it when they give up.
func (q *waiting) note(out Outcome) {
	if q.queue.head != nil {
		c := q.contended()
		c.last = c.last.noted(out)
	}
}

// lastOutcome is what is known of a name that nobody holds here, as the answer to a waiter that gives up.
func (q *waiting) lastOutcome(now Time) Outcome {
	if q.contention == nil {
		return Outcome{Last: Down}
	}
	return q.contention.last.outcome(now, q.contention.theirs.ends)
}

// askTime is when the next question may leave.
func (q *waiting) askTime() Time {
	at := q.askAt
	if q.again {
		at = 0
	}
	if q.contention != nil {
		at = max(at, q.contention.last.earliest())
	}
	return at
}

// hurry ends the pause before the next question.
func (q *waiting) hurry(now Time) {
	q.askAt = min(q.askAt, now)
	if q.contention != nil {
		q.contention.last.hurry()
	}
}

// declined is a question that surely did nothing, for another reason than another owner.
func (q *waiting) declined(now Time, c *Command, tries *retries) {
	out, pause := declined(c, tries)
	q.askAt = now + pause
	q.tell(out)
}

// gaveBack is a grant that is given back: the waiters ask again after a pause, whatever is published meanwhile;
// a caller that asks only once is told.
func (q *waiting) gaveBack(now Time, id uint64, tries *retries, out Outcome) {
	pause := tries.next(id)
	q.tell(out)
	if q.queue.head != nil {
		q.contention.last.notBefore = now + pause
	}
}

// thin has the subscription end a while after its last waiter.
func (q *waiting) thin(now Time) {
	if q.contention != nil {
		q.contention.thin(now, q.queue.lasting() > 0)
	}
}

// The events that are the same for every kind.

// Abandon gives up a waiter: its caller waits no longer.
func (q *waiting) Abandon(now Time, w *Waiter, fx *Effects) { q.endWait(now, w, GaveUp, fx) }

// Timeout gives up a waiter that has waited until its Until.
func (q *waiting) Timeout(now Time, w *Waiter, fx *Effects) { q.endWait(now, w, TimedOut, fx) }

// endWait answers a waiter that waits no longer. One that has had its answer is left alone.
func (q *waiting) endWait(now Time, w *Waiter, why Why, fx *Effects) {
	if k := q.Machine; k.forget(w) {
		q.cfg.Answer(w, w.gaveUp(why, k.lastOutcome(now))) // last: a settled waiter is its caller's again
	}
	q.Machine.closeUp(now)
	q.Machine.pump(now, fx)
}

// Subscribed is the subscription being confirmed, perhaps again after a reconnect, or refused. What was published before it
// stood is lost, so that the waiters ask again.
func (q *waiting) Subscribed(now Time, refusal string, fx *Effects) {
	c := q.contention
	switch {
	case c == nil || c.state == unsubscribed: // it was given up meanwhile
		return
	case refusal == "":
		c.confirm()
		q.Machine.askAgain()
	case c.state == subscribing:
		q.turnAway(Outcome{Why: Refused, ServerMessage: refusal}, everyone)
		c.state = subscribeDenied
	default:
		c.state = subscribeDenied
	}
	q.Machine.pump(now, fx)
}

// Drain turns all waiters away; holds go on, and can be extended, and what is to be given back is still given.
func (q *waiting) Drain(now Time, fx *Effects) {
	q.Machine.turnAllAway()
	q.Machine.pump(now, fx)
}

// Waiting is how many callers wait for the name.
func (q *waiting) Waiting() int { return int(q.queue.n) }

// What a kind changes in these events, when it has more than a queue.

func (q *waiting) forget(w *Waiter) bool {
	waited := w.queued
	q.queue.remove(w)
	return waited
}

func (q *waiting) turnAllAway() { q.turnAway(Outcome{Why: Closed}, everyone) }

func (q *waiting) askAgain() { q.again = q.queue.head != nil }

func (q *waiting) closeUp(Time) {}
