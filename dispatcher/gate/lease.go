package gate

import (
	"time"

	"github.com/wheellock/wheellock/scripts"
)

// phase is what this process knows of a lease in Redis.
type phase uint8

const (
	free  phase = iota // it is surely not there
	asked              // an acquire was sent; it may have taken the lock
	ours               // it is there until its deadline
	dead               // it is to be released: a release will be sent, or was sent
)

// Lease is a tenure with its living holds, from the first acquire until it is surely gone from Redis. A Lease records what happened; the Lock decides which callers hold and what to
// ask of Redis.
//
//	free  -> asked  ask
//	asked -> ours   granted
//	asked -> free   refused; declined, unless an acquire before this one got no answer
//	ours  -> ours   renewed: kept, or doubtful until the next answer
//	ours  -> free   vanished: Redis says that the owner is not there
//	ours  -> dead   drop: the last hold ended, or the deadline passed
//	dead  -> free   released, or Ends passed: no command can reach it, and its TTL has run out in Redis
//
// A Sequencer has no LeaseTime: its one call is repeated under its number until Redis has answered (sequenceranswers.go), so that no permit is ever
// in doubt, asked for twice, or left behind as an orphan.
type Lease struct {
	Tenure
	extent  Time // when its keys run out, less a margin, if nobody lowers their TTL, as Redisson may do to readers; never before Deadline
	holds   holds
	watched int32 // how many holds the watchdog keeps
	writes  int32 // how many holds are a writer's
	handed  uint8 // handoffs since the last confirmation, up to aheadAfter
	atRisk  bool  // its watched holds were warned, and nothing was confirmed since

	phase     phase
	suspected bool // Suspect came while a command was in flight, so the answer to that proves nothing
	writer    bool // it was taken for a writer, as every lease of a mutex is
	write     bool // in Redis it is a writer's, unless it is torn
	torn      bool // a downgrade got no answer: it may be a reader's
	inLine    bool // one of its acquires could get a place in line
}

// ask begins a lease under a fresh owner id.
func (l *Lease) ask(id uint64, lease time.Duration, watch, write bool) {
	*l = Lease{Tenure: Tenure{ID: id, LeaseTime: lease, Watch: watch}, phase: asked, writer: write, write: write}
}

// askFor prepares an acquire that got no answer to be sent again for w, under the same owner id.
func (l *Lease) askFor(w *Waiter) {
	l.LeaseTime, l.Watch = max(l.LeaseTime, w.LeaseTime), w.Watch && w.LeaseTime >= l.LeaseTime
}

// settled reports whether the lease surely is in Redis, or surely is not (invariant: released-owner-is-dead).
func (l *Lease) settled() bool { return l.phase == free || l.phase == ours }

// declined handles an acquire that surely did nothing. If an earlier one got no answer, that may have taken the lock: then the same owner
// asks again, or is released.
func (l *Lease) declined() {
	if l.Unsure == 0 {
		l.phase = free
	}
}

// confirm moves the deadline, and that of the holds, to follow from the sending of c, and makes the lease fresh. No hold is at risk any more. If the link has
// broken since c was asked for, the lease still belongs to the link before.
//
// A lease of readers that is longer than the watchdog's may be cut: Redisson's renewals of other readers lower the TTL of the shared lock
// to that of the watchdog. So it is renewed every third of the watchdog's lease, and the deadline is never further away than that. A
// renewal gives readers no more time to join, because an outside writer must get its turn.
func (l *Lease) confirm(now Time, c *Command, cfg *Config) {
	lease := l.trustedLease(c.LeaseTime, cfg)
	l.extent = max(l.extent, c.Sent+c.LeaseTime-margin(c.LeaseTime))
	l.Deadline = max(l.Deadline, c.Sent+lease-margin(lease))
	l.moveEnds(now, c.LeaseTime)
	l.Next = c.Sent + l.LeaseTime/3
	if !l.Watch {
		l.Next = c.Sent + cfg.LeaseTime/3
	}
	l.scheduleDowngrade()
	if l.write {
		l.Confirmed = now
	}
	l.Epoch, l.Doubt, l.handed = c.Epoch, false, 0
	l.follow()
	l.warn(cfg.Stats, Outcome{})
}

// trustedLease is how much of a lease counts: of a reader's at most the watchdog's.
func (l *Lease) trustedLease(lease time.Duration, cfg *Config) time.Duration {
	if l.write {
		return lease
	}
	return min(lease, cfg.LeaseTime)
}

// unusable is why the lease that c took cannot be granted; Granted: it can. A grant that is read after its own deadline is not passed on.
func (l *Lease) unusable(now Time, c *Command, cfg *Config) Outcome {
	switch {
	case now >= l.Deadline:
		return overdue(now, c, l.trustedLease(c.LeaseTime, cfg))
	case c.Result == UnderReplicated:
		return Outcome{Why: NotReplicated}
	}
	return Outcome{}
}

// unrenewed handles a renewal that proved nothing. The lease is doubtful, so it is not handed on; it is renewed until its deadline.
func (l *Lease) unrenewed(now Time, c *Command, tries *retries) {
	l.Doubt, l.Next = true, now+l.pauseWithin(tries.next(l.ID), now)
	if c.Result == NotSent {
		l.Next = now + l.LeaseTime/10 // LinkUp comes earlier
	}
}

// scheduleDowngrade makes a downgrade that is due go before the next renewal.
func (l *Lease) scheduleDowngrade() {
	if l.downgradeDue() {
		l.Next = 0
	}
}

// renewAt is when to renew or to downgrade the lease; Never: not because of time alone. growing: a growth waits for the renewal.
func (l *Lease) renewAt(growing bool) Time {
	switch {
	case growing && !l.Doubt && !l.downgradeDue():
		return 0
	case l.Watch || l.Doubt || growing || l.Deadline < l.extent || l.downgradeDue():
		return l.Next
	}
	return Never
}

// lasts reports whether the lease lasts as long as w needs it.
func (l *Lease) lasts(now Time, w *Waiter) bool {
	switch {
	case now+w.Least > l.Deadline:
		return false
	case w.Watch:
		return l.Watch
	}
	return now+w.LeaseTime-margin(w.LeaseTime) <= l.extent
}

// suspect makes Redis be asked whether the lease is there, at that time at the latest. The lease is not handed on before the answer.
func (l *Lease) suspect(at Time) {
	if l.phase == ours {
		l.Doubt, l.Next = true, min(l.Next, at)
	}
}

// updateEnds moves Ends if the command, which has come back, may have set the TTL anew. It must run before the event ends any hold: a
// release is repeated until Ends.
func (l *Lease) updateEnds(now Time, c *Command) {
	if c.ID != l.ID || !Operations[c.Op].extends() {
		return
	}
	switch c.Result {
	case Answered, UnderReplicated:
		l.moveEnds(now, c.LeaseTime)
	case Unknown:
		l.moveEnds(now+LateWindow, c.LeaseTime)
	}
}

// released handles the answer to a release. gone: nothing of the lease is left but perhaps an orphan; why is the answer to Unlock.
// Otherwise the release is sent again, until Ends.
//
// "Not the owner" is a success if an earlier release left before the deadline:
//
//  1. The release leaves before the deadline. Its answer is lost.
//  2. It is sent again. The owner is not there.
//
// Nothing else ends a lease before its deadline, so the first release did (invariant: released-owner-is-dead).
func (l *Lease) released(c *Command) (why Why, gone bool) {
	switch {
	case c.Result != Answered:
		return Doubtful, false
	case freed(c.Reply) || c.Reply == scripts.NotMine && l.Resent:
		return Granted, true
	}
	return Lost, c.Reply == scripts.NotMine
}

// unreleased handles a release or a downgrade that proved nothing.
func (l *Lease) unreleased(c *Command, tries *retries) (out Outcome, pause time.Duration) {
	if c.Result == Unknown {
		l.Resent = l.Resent || c.Sent < l.Deadline
	}
	return unreleasedOutcome(c, tries)
}

// orphan is the owner id of a lease that is gone, if an acquire of it may still arrive. It is released once more when none can
// (invariant: late-acquire-does-nothing):
//
//  1. An acquire gets no answer. A copy of it waits somewhere in the network.
//  2. The acquire is sent again and granted. Later a release frees the lock.
//  3. The copy arrives and takes the lock, for nobody.
func (l *Lease) orphan(release Op) orphan {
	o := orphan{id: l.ID, op: release, inLine: l.mayBeInLine(), at: l.Unsure, ends: l.Ends}
	if o.inLine { // a place stands for longer than a lease
		o.ends += placeTime
	}
	return o
}

// mayBeInLine reports whether the owner id may have a place in line, or get one.
func (l *Lease) mayBeInLine() bool { return l.inLine && l.Unsure != 0 }

// add adds a hold.
func (l *Lease) add(h *Hold, stats *Stats) {
	l.holds.add(h)
	stats.Held.Inc()
	if h.write {
		l.writes++
	}
	if h.watch {
		l.watched++
		if l.atRisk {
			h.warn(stats, Outcome{Why: Doubtful})
		}
	}
}

// holdOf is a hold of an Owner, of a mutex; nil: it has none. All holds of the lease of a mutex have the same Owner.
func (l *Lease) holdOf(owner uint64) *Hold {
	if h := l.holds.first; h != nil && owner != 0 && h.Owner() == owner {
		return h
	}
	return nil
}

// extend moves the own end of a hold to until, unless it is later already.
func (l *Lease) extend(h *Hold, until Time) { l.holds.extend(h, max(h.until.at, until), &l.Tenure) }

// end removes a hold, and its Owner from owners if that has no other. Without watched holds the watchdog stops, unless h was the last hold: the
// lease may be handed on as it is.
func (l *Lease) end(h *Hold, stats *Stats, owners rwOwners) {
	l.holds.remove(h)
	h.end()
	owners.forgetIdle(h.Owner())
	stats.Held.Dec()
	if h.write {
		l.writes--
		l.scheduleDowngrade()
	}
	if h.watch {
		l.watched--
		if l.atRisk {
			stats.AtRisk.Dec()
		}
	}
	l.Watch = l.watched > 0 || l.holds.first == nil && l.Watch
}

// endAll ends every hold for the reason why.
func (l *Lease) endAll(stats *Stats, owners rwOwners, why Why) {
	for l.holds.first != nil {
		l.lose(l.holds.first, stats, owners, why)
	}
}

// downgradeDue reports whether all writes have ended and reads of the same Owner are left.
func (l *Lease) downgradeDue() bool {
	return l.phase == ours && l.write && l.writes == 0 && l.holds.first != nil
}

// isDue reports whether the end of a hold or of the lease has come.
func (l *Lease) isDue(now Time) bool { return l.phase == ours && now >= l.nextEnd() }

// endDue ends the holds that are over by time. over: the lease has no hold left, and is to be released. A lease that ends by a fixed lease
// of its holds is released, and not left to its TTL (invariant: handoff-keeps-lease).
func (l *Lease) endDue(now Time, stats *Stats, owners rwOwners) (over bool) {
	if now >= l.Deadline {
		l.endAll(stats, owners, Lost)
		return true
	}
	for h := l.holds.first; h != nil && now >= h.until.at; h = l.holds.first {
		why := Lost
		if h.watch {
			why = TooLong
		}
		l.lose(h, stats, owners, why)
	}
	return l.holds.first == nil
}

// lose ends a hold that its holder has not given back.
func (l *Lease) lose(h *Hold, stats *Stats, owners rwOwners, why Why) {
	l.end(h, stats, owners)
	h.why = why
	stats.Lost.Inc()
	h.By.End(why)
}

// nextEnd is when the first hold ends unless the lease is renewed.
func (l *Lease) nextEnd() Time {
	if h := l.holds.first; h != nil {
		return min(l.Deadline, h.until.at)
	}
	return l.Deadline
}

// follow passes the deadline of the lease on to its holds.
func (l *Lease) follow() { l.holds.follow(&l.Tenure) }

func (l *Lease) oldest() Time {
	oldest := Never
	for h := range l.holds.all() {
		oldest = min(oldest, h.Since())
	}
	return oldest
}
