package gate

import (
	"time"

	"github.com/wheellock/wheellock/scripts"
)

// phase is what is known in this process of a lease in Redis.
type phase uint8

const (
	free  phase = iota // it is surely gone, or was never asked for
	asked              // an acquire was sent; whether it took the lock is not known
	ours               // it stands until its deadline
	dead               // it must go: a release is to be sent, or was sent
)

// Lease is one tenure from the first question for it until it is surely gone from Redis, with its living holds. A mutex has one, a
// read-write lock one for its writer or up to two for its readers. It answers an event with what follows; the Lock decides which
// callers hold, and what is asked of Redis.
//
//	free  -> asked  ask
//	asked -> ours   granted
//	asked -> free   refused; declined, unless an acquire before this one got no answer
//	ours  -> ours   renewed: kept, or doubtful until the next answer
//	ours  -> free   gone: Redis says that the owner is not there
//	ours  -> dead   drop: the last hold ended, or the deadline passed
//	dead  -> free   released, or Ends passed: no command can reach it, and its lease has run out in Redis
//
// The permits of Permits have no Lease: their one call is repeated under its number until Redis has answered
// (sequenceranswers.go), so that no permit is ever in doubt, asked for twice, or left behind as an orphan.
type Lease struct {
	Tenure
	extent  Time  // when its keys run out, less a margin, if nobody lowers their TTL: of readers Redisson may. Else as Deadline
	holds   *Hold // newest first
	soonest Time  // none of them ends by its own time before this
	watched int32 // how many of them the watchdog keeps
	writes  int32 // how many of them exclude others
	handed  uint8 // how often the tenure was handed on since its last confirmation, up to aheadAfter
	atRisk  bool  // its watched holds were told so, and nothing was confirmed since

	phase     phase
	suspected bool // it was suspected after the command in flight was asked for
	writer    bool // it was taken to exclude others, as every lease of a mutex is
	write     bool // in Redis it excludes others, unless it is torn
	torn      bool // a downgrade got no answer: it may be a reader's
}

// ask begins a lease under a fresh owner id.
func (l *Lease) ask(id uint64, lease time.Duration, watch, write bool) {
	*l = Lease{Tenure: Tenure{ID: id, Lease: lease, Watch: watch}, phase: asked, writer: write, write: write}
}

// askFor prepares the repetition of an acquire that lost its answer, under the same owner id, for w.
func (l *Lease) askFor(w *Waiter) {
	l.Lease, l.Watch = max(l.Lease, w.Lease), w.Watch && w.Lease >= l.Lease
}

// declined is an acquire that surely did nothing. An acquire before it that got no answer may have taken the lock: then
// the same owner asks again, or is released.
func (l *Lease) declined() {
	if l.Unsure == 0 {
		l.phase = free
	}
}

// confirm counts the lease from when c left, and begins to count handoffs anew. No hold is at risk any more. If the link has broken
// since c was asked for, the lease still belongs to the link before.
//
// A lease of readers that is longer than the watchdog's does not last by itself: Redisson's renewals of other readers lower the TTL of
// the lock that they share to that of the watchdog. So it is asserted again every third of that, and the deadline is never further
// away. A renewal does not let readers join for longer: an outside writer must get its turn.
func (l *Lease) confirm(now Time, c *Command, cfg *Config) {
	lease := l.trustedLease(c.Lease, cfg)
	l.extent = max(l.extent, c.Sent+c.Lease-margin(c.Lease))
	l.Deadline = max(l.Deadline, c.Sent+lease-margin(lease))
	l.moveEnds(now, c.Lease)
	l.Next = c.Sent + l.Lease/3
	if !l.Watch {
		l.Next = c.Sent + cfg.Lease/3
	}
	l.scheduleDowngrade()
	if l.write {
		l.Confirmed = now
	}
	l.Epoch, l.Doubt, l.handed = c.Epoch, false, 0
	l.warn(cfg.Stats, Outcome{})
}

// trustedLease is how much of a lease counts: of a reader's no more than the watchdog's.
func (l *Lease) trustedLease(lease time.Duration, cfg *Config) time.Duration {
	if l.write {
		return lease
	}
	return min(lease, cfg.Lease)
}

// unusable is why nobody can be given the lease that c took; Granted: it can be given. A grant that is read after its own deadline is not
// handed out.
func (l *Lease) unusable(now Time, c *Command, cfg *Config) Outcome {
	switch {
	case now >= l.Deadline:
		return overdue(now, c, l.trustedLease(c.Lease, cfg))
	case c.Result == UnderReplicated:
		return Outcome{Why: NotReplicated}
	}
	return Outcome{}
}

// renewedInVain notes a renewal that proved nothing: the lease is doubtful, so that it is not handed on, and it is asked for
// again until its deadline.
func (l *Lease) renewedInVain(now Time, c *Command, tries *retries) {
	l.Doubt = true
	lease := l.Lease
	if l.Deadline-now <= claimTime { // however long the lease is, several attempts fit into the last seconds; a claim has no more
		lease = min(lease, claimTime)
	}
	l.Next = now + within(tries.next(l.ID), lease)
	if c.Result == NotSent {
		l.Next = now + l.Lease/10 // LinkUp comes earlier
	}
	l.scheduleDowngrade()
}

// scheduleDowngrade has a downgrade that is due go before the next renewal.
func (l *Lease) scheduleDowngrade() {
	if l.downgradeDue() {
		l.Next = 0
	}
}

// renewAt is when to renew, or to lower, what is ours; Never: not by time alone. growing: somebody waits for more of it.
func (l *Lease) renewAt(growing bool) Time {
	switch {
	case l.phase != ours || l.holds == nil:
		return Never
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
	return now+w.Lease-margin(w.Lease) <= l.extent
}

// suspect has Redis asked at that time at the latest whether the lease is there; nothing is handed on until then.
func (l *Lease) suspect(at Time) {
	if l.phase == ours {
		l.Doubt, l.Next = true, min(l.Next, at)
	}
}

// updateEnds notes what a command about the lease, which has come back, may have done to its key. The kind calls it
// before anything else: what is lost in this moment is released for as long as its key may stand.
func (l *Lease) updateEnds(now Time, c *Command) {
	if c.ID != l.ID || !Operations[c.Op].extends {
		return
	}
	switch c.Result {
	case Answered, UnderReplicated:
		l.moveEnds(now, c.Lease)
	case Unknown:
		l.moveEnds(now+LateWindow, c.Lease)
	}
}

// fresh is rule 8: a lease may be handed to another caller of this process without asking Redis, for a while after
// Redis confirmed it, unless something unusual was seen since or the link has broken since.
func (l *Lease) fresh(now Time, cfg *Config) bool {
	return now < l.Deadline && now-l.Confirmed < cfg.HandoffTime && !l.Doubt && l.Epoch == cfg.Epoch
}

// released takes the answer to a release. gone: nothing of the lease is left, but for an orphan; why is for the
// caller of Unlock. Else the release is sent again, until Ends.
//
// A release that Redis answers with "not this owner's" after one without an answer:
//
//  1. The release leaves before the deadline. Its answer is lost.
//  2. It is sent again. The owner is not there.
//
// The first release did it, for nothing else ends a lease before its deadline: the unlocking went well (rule 4).
func (l *Lease) released(c *Command) (why Why, gone bool) {
	switch {
	case c.Result != Answered:
		return Doubtful, false
	case freed(c.Reply) || c.Reply == scripts.NotMine && l.Resent:
		return Granted, true
	}
	return Lost, c.Reply == scripts.NotMine
}

// unreleased notes a release, or a downgrade, that proved nothing.
func (l *Lease) unreleased(c *Command, tries *retries) (out Outcome, pause time.Duration) {
	if c.Result == Unknown {
		l.Resent = l.Resent || c.Sent < l.Deadline
	}
	return unreleasedOutcome(c, tries)
}

// orphan is the owner id of an lease that is gone, while an acquire of it may arrive after the command that found it
// gone or freed it: it is released once more when none can (rule 12).
//
//  1. An acquire gets no answer; a copy of it waits somewhere in the network.
//  2. The acquire is sent again and granted. Later the release frees the lock.
//  3. The copy arrives and takes the lock, for nobody.
func (l *Lease) orphan(release Op) orphan {
	return orphan{id: l.ID, op: release, at: l.Unsure, ends: l.Ends}
}

// The living holds of one lease. A read lock has thousands: nothing but a renewal and the end of a hold's own time
// walks through all of them.

func (l *Lease) add(h *Hold, stats *Stats) {
	if l.holds == nil {
		l.soonest = Never
	} else {
		l.holds.prev = h
	}
	h.next, h.prev, l.holds = l.holds, nil, h
	l.soonest = min(l.soonest, h.until)
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

// holdOf is the newest hold of that Owner; nil: there is none.
func (l *Lease) holdOf(owner uint64) *Hold {
	for h := l.holds; h != nil && owner != 0; h = h.next {
		if h.owner() == owner {
			return h
		}
	}
	return nil
}

// end takes a hold out. Without a watched hold the watchdog stops; but the last hold's tenure may be handed
// on as it is.
func (l *Lease) end(h *Hold, stats *Stats) {
	if h.prev == nil {
		l.holds = h.next
	} else {
		h.prev.next = h.next
	}
	if h.next != nil {
		h.next.prev = h.prev
	}
	h.next, h.prev = nil, nil
	h.end()
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
	l.Watch = l.watched > 0 || l.holds == nil && l.Watch
}

// endAll ends every hold and tells its holder.
func (l *Lease) endAll(stats *Stats, why Why) {
	for l.holds != nil {
		l.lose(l.holds, stats, why)
	}
}

// downgradeDue reports whether the writes have ended and reads of the same Owner are left: a downgrade is due.
func (l *Lease) downgradeDue() bool {
	return l.phase == ours && l.write && l.writes == 0 && l.holds != nil
}

// isDue reports whether the time of a hold may be over, or that of the lease.
func (l *Lease) isDue(now Time) bool { return l.phase == ours && now >= l.nextEnd() }

// endDue ends the holds that are over by time. ended: there were some. over: the lease is over by that, and is to be
// freed. What ended by its own lease is released, and not left to its TTL (rule 1).
func (l *Lease) endDue(now Time, stats *Stats) (ended, over bool) {
	if now >= l.Deadline {
		ended = l.holds != nil
		l.endAll(stats, Lost)
		return ended, true
	}
	ended = l.endDueHolds(now, stats)
	return ended, ended && l.holds == nil
}

// endDueHolds ends the holds that are over by their own time.
func (l *Lease) endDueHolds(now Time, stats *Stats) (ended bool) {
	if l.holds == nil || now < l.soonest {
		return false
	}
	l.soonest = Never
	for h := l.holds; h != nil; {
		next := h.next
		if now >= h.until {
			why := Lost
			if h.watch {
				why = TooLong
			}
			l.lose(h, stats, why)
			ended = true
		} else {
			l.soonest = min(l.soonest, h.until)
		}
		h = next
	}
	return ended
}

func (l *Lease) lose(h *Hold, stats *Stats, why Why) {
	l.end(h, stats)
	h.why = why
	stats.Lost.Inc()
	h.By.End(why)
}

// nextEnd is when the first hold ends, unless the tenure is renewed; perhaps earlier, after a hold was
// unlocked or extended.
func (l *Lease) nextEnd() Time {
	if l.holds == nil {
		return l.Deadline
	}
	return min(l.Deadline, l.soonest)
}

// follow passes the tenure's new deadline on to its holds.
func (l *Lease) follow() {
	for h := l.holds; h != nil; h = h.next {
		h.follow(&l.Tenure)
	}
}

func (l *Lease) oldest() Time {
	oldest := Never
	for h := l.holds; h != nil; h = h.next {
		oldest = min(oldest, h.Since())
	}
	return oldest
}
