package gate

import "time"

// RW is the machine of a read-write lock.
//
// Readers of this process share a tenure: who comes while it is joinable costs no command (rwenter.go). When that
// time is over later readers ask under a second tenure, and when there are two, for the newer one again
// (rwask.go). Such a question finds out who else listens: while this process reads, nobody but a writer has reason
// to wait, so that the readers let it come first and wait until what runs has ended. A writer has a tenure alone;
// it is handed on from writer to writer, and reads of its own Owner live under it, to become an ordinary read
// tenure when the last write ends, by a downgrade (rwend.go).
//
// Here, requests are served in the order of arrival. Readers who follow each other enter together. A reader that
// comes while a writer waits, waits behind it; only who reads or writes already, by its Owner, is let in at once.
type RW struct {
	lock
	own      ample
	owners   map[uint64]*ownerHolds // Owners with living holds
	leases   []*rwLease             // tenures, the newest last: of readers, or of one writer
	inFlight *rwLease               // whom the command in flight is about; nil: an orphan

	yieldsToWriters bool    // it, asking for readers, is for nothing if others listen
	asks            retries // for the head of the queue, in vain
	suspected       bool    // the tenures were suspected after the command in flight was asked for
}

// rwLease is a tenure of a read-write lock, from the question for it until it is freed.
type rwLease struct {
	ownership
	growing growths
	pendingAck
	joinBy Time  // until when readers may join
	extent Time  // when its keys run out, less a margin, if nobody lowers their TTL; for a writer, Deadline
	askAt  Time  // when the release or the downgrade may be sent, again
	writes int32 // living holds that exclude
	writer bool  // it was taken as a writer's
	write  bool  // in Redis it is a writer's, unless it is torn
	torn   bool  // a downgrade got no answer: it may be a reader's
}

// maxShares is how many read tenures this process has at most at once.
const maxShares = 2

func newRW() Machine { return &RW{} }

func (r *RW) reset(cfg *Config) {
	*r = RW{lock: r.lock}
	r.begin(cfg, &r.own)
}

// lowering reports whether the writes have ended and reads of the same Owner are left: a downgrade is due.
func (g *rwLease) lowering() bool {
	return g.phase == ours && g.write && g.writes == 0 && g.holds != nil
}

// Ask is a caller that wants in.
func (r *RW) Ask(now Time, w *Waiter, fx *Effects) {
	r.tick(now)
	switch {
	case w.Owner != 0 && r.reenter(now, w):
	case !w.Write && r.queue.writers == 0 && r.join(now, w):
	case w.Try && r.shut(w.Write): // rule 10
		r.cfg.Answer(w, Outcome{Why: Taken, TTL: r.ttl(now)})
	default:
		if w.Try || len(r.leases) == 0 && r.queue.lasting() == 0 { // no pause is kept that nobody is in, and no TryLock keeps one
			r.hurry(now)
		}
		r.queue.push(w)
	}
	r.pump(now, fx)
}

// shut reports whether a TryLock has no chance, by what lives and waits here.
func (r *RW) shut(write bool) bool {
	if write && r.queue.lasting() > 0 || !write && r.queue.writers > 0 {
		return true
	}
	for _, g := range r.leases {
		if g.holds != nil && (write || g.write) {
			return true
		}
	}
	return false
}

// forget takes a waiter out. False: it does not wait.
func (r *RW) forget(w *Waiter) bool {
	waited := r.waiting.forget(w)
	for _, g := range r.leases {
		waited = g.growing.forget(w) || waited
	}
	return waited
}

// lastOutcome is what is known of the name, as the answer to a waiter that gives up.
func (r *RW) lastOutcome(now Time) Outcome {
	if r.Oldest() != Never {
		return Outcome{Last: Taken, TTL: r.ttl(now)}
	}
	return r.waiting.lastOutcome(now)
}

// Answer is the command in flight coming back.
func (r *RW) Answer(now Time, c *Command, fx *Effects) {
	g := r.inFlight
	r.flight, r.inFlight = None, nil
	if g != nil {
		g.prolonged(now, c)
	}
	r.tick(now)
	switch {
	case g == nil:
		r.heardBy(c)
		r.contention.orphans.answered(now, c)
	case c.Op == ReleaseRead || c.Op == ReleaseWrite:
		r.released(now, g, c)
	case c.Op == Downgrade:
		r.lowered(now, g, c)
	case c.Op == AcquireRead || c.Op == AcquireWrite:
		r.acquired(now, g, c, fx)
	case g.phase != ours: // it ended while the command was on its way
	case c.Op == ConfirmRead || c.Op == ConfirmWrite:
		r.confirmed(now, g, c, fx)
	default:
		r.renewed(now, g, c)
	}
	if r.suspected {
		r.suspectAt(now, r.contention.heedAt)
	}
	r.pump(now, fx)
}

// pump sends the next command of the name, if one is due and none is in flight. Every event ends with it.
func (r *RW) pump(now Time, fx *Effects) {
	for _, g := range r.leases {
		if g.phase == ours && g.holds == nil {
			r.decide(now, g, fx)
		}
	}
	r.thin(now)
	if r.flight != None || r.renew(now, fx) || r.free(now, fx) || r.releaseOrphan(now, fx) {
		return
	}
	r.ask(now, fx)
}

// send sends the one command of the name, about g. The caller may fill in more, at once.
func (r *RW) send(op Op, g *rwLease, lease time.Duration, fx *Effects) *Command {
	r.inFlight, r.suspected = g, false
	return r.lock.send(op, g.ID, lease, fx)
}

// NextAlarm is the first instant at which time alone changes something.
func (r *RW) NextAlarm() Time {
	at := r.contention.linger
	for _, g := range r.leases {
		if g.phase == ours {
			at = min(at, g.nextEnd())
		}
		if g.ack != nil {
			at = min(at, g.Deadline)
		}
	}
	if r.flight != None {
		return at
	}
	at = min(at, r.contention.orphans.nextAlarm())
	for _, g := range r.leases {
		if g.phase == dead || g.lowering() {
			at = min(at, g.askAt)
		}
		at = min(at, g.renewAt())
	}
	if r.asking() != nil || r.mayAsk() {
		at = min(at, r.askTime())
	}
	return at
}

// Idle reports whether the entry can be forgotten.
func (r *RW) Idle() bool {
	return len(r.leases) == 0 && r.flight == None && r.queue.head == nil && len(r.contention.orphans) == 0 && r.contention.state == unsubscribed
}

// ttl is what the local holds' lease has left, or what was last heard of others'.
func (r *RW) ttl(now Time) time.Duration {
	at, held := Time(0), false
	for _, g := range r.leases {
		if g.phase == ours {
			at, held = max(at, g.Deadline), true
		}
	}
	if !held {
		at = r.contention.theirs.ends
	}
	return timeLeft(now, at)
}

// Oldest is when the oldest living hold was granted.
func (r *RW) Oldest() Time {
	oldest := Never
	for _, g := range r.leases {
		oldest = min(oldest, g.oldest())
	}
	return oldest
}
