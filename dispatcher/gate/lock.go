package gate

import "time"

// lock is a name that has owners in Redis: what a Mutex and an RW do alike, however many owners of ours there may be at once
// and whom they let in. The owners themselves are the kind's, which tells of them when it is asked (lockKind).
type lock struct{ waiting }

// lockKind is what differs between the kinds in the events below.
type lockKind interface {
	Machine
	tick(now Time)                                                                // ends what time has ended
	heard(now Time)                                                               // somebody else has freed the name
	suspectAt(now, at Time)                                                       // has Redis asked at that time at the latest whether our owners are there
	reconnected(now Time)                                                         // the link is there again: all is asked for anew
	expel(now Time, owner string, id uint64, ack Settler) (release Op, ours bool) // frees an owner of ours; else says how it is released
	endHolds(now Time, why Why)                                                   // ends all holds and frees their owners
}

func (q *lock) kind() lockKind { return q.Machine.(lockKind) }

// Message is a hint that the lock was freed.
func (q *lock) Message(now Time, news News, fx *Effects) {
	if !q.contended().foreign(news) {
		return
	}
	k := q.kind()
	k.tick(now)
	q.settleYield(false, now) // somebody had it, to free it
	k.heard(now)
	k.pump(now, fx)
}

// Suspect asks Redis at once whether our owners are still there; until the answer nothing is handed on, and nobody joins
// (rule 8). The answer to a command that is on its way proves nothing:
//
//  1. A renewal runs in Redis. Its answer is on its way.
//  2. Somebody deletes the key, and the message of that arrives here first.
//  3. The answer says that the owner was there. Were that a proof, the tenure would be handed on.
func (q *lock) Suspect(now Time, fx *Effects) {
	k := q.kind()
	k.suspectAt(now, now)
	k.pump(now, fx)
}

// LinkUp is the end of a break of the link: holds are verified, waiters ask again.
func (q *lock) LinkUp(now Time, fx *Effects) {
	k := q.kind()
	k.tick(now)
	q.hurry(now)
	q.tries = 0
	if q.contention != nil {
		q.contention.orphans.hurry(now)
	}
	k.reconnected(now)
	k.pump(now, fx)
}

// Force frees an owner. When it is one of ours, its holds end first; when it is one that was granted in Redis but not here
// yet, it is never handed out.
func (q *lock) Force(now Time, owner string, id uint64, ack Settler, fx *Effects) {
	k := q.kind()
	k.tick(now)
	if release, ours := k.expel(now, owner, id, ack); !ours {
		q.contended().orphans.add(orphan{owner: owner, id: id, op: release, at: now, ack: ack})
	}
	k.pump(now, fx)
}

// Wake is the alarm.
func (q *lock) Wake(now Time, fx *Effects) {
	k := q.kind()
	k.tick(now)
	if c := q.contention; c != nil {
		if now >= Centuries {
			c.orphans.settleAll(Outcome{Why: Closed})
		}
		c.forget(now)
		if q.queue.lasting() == 0 {
			c.expire(now, &q.Entry, fx)
		}
	}
	k.pump(now, fx)
}

// Close turns everybody away, ends all holds and frees everything.
func (q *lock) Close(now Time, fx *Effects) {
	k := q.kind()
	k.turnAllAway()
	if c := q.contention; c != nil {
		c.subscription.close()
		c.keep, c.turns = Never, turns{}
	}
	k.endHolds(now, Closed)
	k.pump(now, fx)
}

// send adds the one command of the name. The caller may fill in more, at once.
func (q *lock) send(op Op, id uint64, lease time.Duration, fx *Effects) *Command {
	c := fx.add(op)
	c.Entry, c.Op, c.ID, c.Lease, c.Epoch = &q.Entry, op, id, lease, q.cfg.Epoch
	q.flight = op
	if Operations[op].publishes && q.contention != nil {
		q.contention.publishing()
	}
	return c
}

// releaseOrphan sends the release of an orphan that is due.
func (q *lock) releaseOrphan(now Time, fx *Effects) bool {
	o := q.contention.orphans.due(now)
	if o == nil {
		return false
	}
	q.send(o.op, o.id, 0, fx).Args = q.contention.releaseArgs(o.op, o.owner)
	q.again = q.queue.head != nil
	return true
}

// returned is the command in flight coming back.
func (q *lock) returned(c *Command) {
	q.flight = None
	if c.Result == Unknown {
		q.cfg.Stats.Uncertain.Inc()
	}
}

// acquisition is what an answer to an acquire has led to.
type acquisition uint8

const (
	heldByUs    acquisition = iota // perhaps in vain
	heldByOther                    // the waiters sleep
	notAcquired                    // nothing is known of it, or it did nothing; the waiters were told, and ask again
)

// acquired takes the answer to an acquire of t; release is how its owner is released.
func (q *lock) acquired(now Time, c *Command, t *ownership, release Op, tries *retries) acquisition {
	if c.ran() && c.Reply.Granted() {
		t.phase, t.Deadline, q.again = ours, 0, false
		return heldByUs
	}
	if c.Result == Unknown {
		t.unsure(lateAfter(c.Sent))
		q.inVain(now, c.ID, tries, unprovedOutcome(c))
		return notAcquired
	}
	if _, held := c.Reply.Held(); held && c.Result == Answered {
		t.phase = free
		q.orphaned(t, c.Sent, release)
		return heldByOther
	}
	t.declined()
	q.declined(now, c, tries)
	return notAcquired
}

// refused is an acquire, sent then, that found another owner: the waiters sleep until a message, the end of that owner's
// lease or the poll cap. nobody is whether this proves that none of the others took what we yielded. False: nobody waits.
func (q *lock) refused(now, sent Time, ttl time.Duration, seed uint64, nobody bool) bool {
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
func (q *lock) inVain(now Time, id uint64, tries *retries, out Outcome) {
	q.askAt = now + tries.next(id)
	q.tell(out)
}

// unrenewed is a renewal of t that proved nothing; growing is what waits for one.
func (q *lock) unrenewed(now Time, c *Command, t *ownership, growing *growths) {
	t.doubt(now, c, &q.tries)
	t.inDanger(now, c, q.cfg.Stats)
	growing.turnAway(q.cfg, unprovedOutcome(c), triesOnce)
}

// unreleased is a release of t, or a downgrade, that proved nothing: it is sent again after the pause, until the lease has
// surely run out. A caller that asks only once does not wait for that; ack hears of it if it is no use to wait.
func (q *lock) unreleased(c *Command, t *ownership, ack *pendingAck) (pause time.Duration) {
	out, pause := t.unreleased(c, &q.tries)
	if out.final() {
		ack.acknowledge(out)
	}
	q.turnAway(out, triesOnce)
	q.note(out)
	return pause
}

// hinted handles a message that the name may be free: the waiters ask again. A refusal that is on its way waits until heedAt.
func (q *lock) hinted(now Time) {
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
func (q *lock) heedAt() Time {
	if q.contention == nil {
		return 0
	}
	return q.contention.heedAt
}

// heardBy is how many others heard the message of a release.
func (q *lock) heardBy(c *Command) int32 {
	if q.contention == nil {
		return int32(max(c.Reply, 0))
	}
	others, sure := q.contention.heardBy(c.Reply)
	q.again = q.again || !sure && q.queue.head != nil
	return others
}

// settleYield notes whether somebody took what we yielded.
func (q *lock) settleYield(nobody bool, now Time) {
	if q.contention != nil {
		q.contention.settleYield(nobody, now)
	}
}

// orphaned has the owner of t released once more if an acquire of it may arrive after a command that was sent then; see
// ownership.orphan.
func (q *lock) orphaned(t *ownership, sent Time, release Op) {
	if t.Unsure > sent {
		q.contended().orphans.add(t.orphan(release))
	}
	t.Unsure = 0
}

// grant makes w a holder under t, until limit at the latest if its lease is a fixed one. False: its caller had gone. Either way w
// is not the loop's any more.
func (q *lock) grant(now Time, w *Waiter, t *ownership, limit Time) bool {
	h := w.begin(now, &t.Tenure, limit, q.cfg.MaxHold)
	if !q.cfg.Answer(w, Outcome{}) {
		h.end()
		return false
	}
	t.add(h, q.cfg.Stats)
	q.cfg.Stats.granted()
	return true
}

// turnAwayTries answers the callers that ask only once, and cannot have the name beside the hold of that owner, which has just begun.
func (q *lock) turnAwayTries(ttl time.Duration, owner uint64, write bool) {
	q.turnAway(Outcome{Why: Taken, TTL: ttl}, func(w *Waiter) bool {
		return w.Try && (write || w.Write) && (w.Owner == 0 || w.Owner != owner) // its own re-enter
	})
}
