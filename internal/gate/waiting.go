package gate

import "time"

// waiting is a live name for which callers may wait, and how Redis is asked for them: who waits, what Redis last said,
// when to ask again, what those hear who give up, and the subscription by which the name's freeing is heard of. The
// machine of every kind is built around one.
//
// A Mutex, of which there may be a million, borrows its wait state while somebody waits and makes its contention state
// when callers compete. The other kinds have both from the beginning (ample).
type waiting struct {
	Entry
	*waitState             // who waits; noWaiters: nobody
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

// Waiting is how many callers wait for the name.
func (q *waiting) Waiting() int { return int(q.queue.n) }

func (q *waiting) turnAway(out Outcome, chosen func(*Waiter) bool) {
	q.queue.turnAway(q.cfg, out, chosen)
}

// tell passes an answer on to those whom it concerns: to those who ask only once, and to everybody if it is no use to
// wait. It is noted for those who go on waiting.
func (q *waiting) tell(out Outcome) {
	if out.Why == Granted { // nothing is to be said yet
		return
	}
	q.turnAway(out, func(w *Waiter) bool { return w.Try || out.final() })
	q.note(out)
}

// note keeps an answer for those who wait: they hear of it when they give up.
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

// refused is an acquire, sent then, that found another owner: the waiters sleep until a message, the end of that owner's
// lease or the poll cap. nobody is whether this proves that none of the others took what we yielded. False: nobody waits.
func (q *waiting) refused(now, sent Time, ttl time.Duration, seed uint64, nobody bool) bool {
	q.cfg.Stats.Waits.Inc()
	q.tell(Outcome{Why: Taken, TTL: ttl})
	q.settleYield(nobody, now)
	if q.queue.head == nil {
		return false
	}
	c := q.contended()
	c.found(now, c.theirs.heard(now, sent, ttl))
	q.askAt = now + q.cfg.sleep(ttl, seed)
	if q.again && now < c.heedAt {
		q.again, q.askAt = false, min(q.askAt, c.heedAt)
	}
	return true
}

// inVain is a question to which there is no answer that counts.
func (q *waiting) inVain(now Time, id uint64, tries *retries, out Outcome) {
	q.askAt = now + tries.next(id)
	q.tell(out)
}

// declined is a question that surely did nothing, for another reason than another owner.
func (q *waiting) declined(now Time, c *Command, tries *retries) {
	out, pause := declined(c, tries)
	q.askAt = now + pause
	q.tell(out)
}

// gaveBack is a grant that is given back: whoever waits asks again after a pause, whatever is published meanwhile;
// whoever asks only once is told.
func (q *waiting) gaveBack(now Time, id uint64, tries *retries, out Outcome) {
	pause := tries.next(id)
	q.tell(out)
	if q.queue.head != nil {
		q.contention.last.notBefore = now + pause
	}
}

// unreleased is a release that proved nothing. Whoever asks only once does not wait until it does.
func (q *waiting) unreleased(c *Command, out Outcome) {
	if c.Result == Unknown {
		q.cfg.Stats.Uncertain.Inc()
	}
	q.turnAway(out, triesOnce)
	q.note(out)
}

// subscribed takes the answer to the subscription; it may come again, after a reconnect. stands: what was published
// before is lost, so that whoever waits asks again. known is false when the subscription was given up meanwhile.
func (q *waiting) subscribed(refusal string) (stands, known bool) {
	c := q.contention
	switch {
	case c == nil || c.state == unsubscribed:
		return false, false
	case refusal == "":
		c.confirm()
		return true, true
	case c.state == subscribing:
		q.turnAway(Outcome{Why: Refused, ServerMessage: refusal}, everyone)
	}
	c.state = subscribeDenied
	return false, true
}

// hinted is a message that whoever waits may be granted the name now. A refusal that is on its way waits until heedAt.
func (q *waiting) hinted(now Time) {
	switch at := q.heedAt(); {
	case q.queue.head == nil:
		q.again = false
	case now < at && q.flight == None:
		q.askAt = min(q.askAt, at)
	default:
		q.again = true
	}
}

// heedAt is from when on messages lead to questions.
func (q *waiting) heedAt() Time {
	if q.contention == nil {
		return 0
	}
	return q.contention.heedAt
}

// heardBy is how many others heard the message of a release.
func (q *waiting) heardBy(c *Command) int32 {
	if q.contention == nil {
		return int32(max(c.Reply, 0))
	}
	others, sure := q.contention.heardBy(c.Reply)
	q.again = q.again || !sure && q.queue.head != nil
	return others
}

// settleYield notes whether somebody took what we yielded.
func (q *waiting) settleYield(nobody bool, now Time) {
	if q.contention != nil {
		q.contention.settleYield(nobody, now)
	}
}

// thin has the subscription end a while after its last waiter.
func (q *waiting) thin(now Time) {
	if q.contention != nil {
		q.contention.thin(now, q.queue.head != nil)
	}
}

// orphaned has the owner of t released once more if an acquire of it may arrive after a command that was sent then; see
// ownership.orphan.
func (q *waiting) orphaned(t *ownership, sent Time, release Op) {
	if t.Unsure > sent {
		q.contended().orphans.add(t.orphan(release))
	}
	t.Unsure = 0
}
