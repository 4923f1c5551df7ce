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
func (t *Lease) ask(id uint64, lease time.Duration, watch, write bool) {
	*t = Lease{Tenure: Tenure{ID: id, Lease: lease, Watch: watch}, phase: asked, writer: write, write: write}
}

// askFor prepares the repetition of an acquire that lost its answer, under the same owner id, for w.
func (t *Lease) askFor(w *Waiter) {
	t.Lease, t.Watch = max(t.Lease, w.Lease), w.Watch && w.Lease >= t.Lease
}

// declined is an acquire that surely did nothing. An acquire before it that got no answer may have taken the lock: then
// the same owner asks again, or is released.
func (t *Lease) declined() {
	if t.Unsure == 0 {
		t.phase = free
	}
}

// confirm counts the lease from when c left, and begins to count handoffs anew. No hold is at risk any more. If the link has broken
// since c was asked for, the lease still belongs to the link before.
//
// A lease of readers that is longer than the watchdog's does not last by itself: Redisson's renewals of other readers lower the TTL of
// the lock that they share to that of the watchdog. So it is asserted again every third of that, and the deadline is never further
// away. A renewal does not let readers join for longer: an outside writer must get its turn.
func (t *Lease) confirm(now Time, c *Command, cfg *Config) {
	lease := t.counted(c.Lease, cfg)
	t.extent = max(t.extent, c.Sent+c.Lease-margin(c.Lease))
	t.Deadline = max(t.Deadline, c.Sent+lease-margin(lease))
	t.carried(now, c.Lease)
	t.Next = c.Sent + t.Lease/3
	if !t.Watch {
		t.Next = c.Sent + cfg.Lease/3
	}
	t.lowerFirst()
	if t.write {
		t.Confirmed = now
	}
	t.Epoch, t.Doubt, t.handed = c.Epoch, false, 0
	t.risk(cfg.Stats, Outcome{})
}

// counted is how much of a lease counts: of a reader's no more than the watchdog's.
func (t *Lease) counted(lease time.Duration, cfg *Config) time.Duration {
	if t.write {
		return lease
	}
	return min(lease, cfg.Lease)
}

// unusable is why nobody can be given the lease that c took; Granted: it can be given. A grant that is read after its own deadline is not
// handed out.
func (t *Lease) unusable(now Time, c *Command, cfg *Config) Outcome {
	switch {
	case now >= t.Deadline:
		return overdue(now, c, t.counted(c.Lease, cfg))
	case c.Result == UnderReplicated:
		return Outcome{Why: TooFew}
	}
	return Outcome{}
}

// doubt notes a renewal that proved nothing: the lease is doubtful, so that it is not handed on, and it is asked for
// again until its deadline.
func (t *Lease) doubt(now Time, c *Command, tries *retries) {
	t.Doubt = true
	lease := t.Lease
	if t.Deadline-now <= claimTime { // however long the lease is, several attempts fit into the last seconds; a claim has no more
		lease = min(lease, claimTime)
	}
	t.Next = now + within(tries.next(t.ID), lease)
	if c.Result == NotSent {
		t.Next = now + t.Lease/10 // LinkUp comes earlier
	}
	t.lowerFirst()
}

// lowerFirst has a downgrade that is due go before the next renewal.
func (t *Lease) lowerFirst() {
	if t.lowering() {
		t.Next = 0
	}
}

// renewAt is when to renew, or to lower, what is ours; Never: not by time alone. growing: somebody waits for more of it.
func (t *Lease) renewAt(growing bool) Time {
	switch {
	case t.phase != ours || t.holds == nil:
		return Never
	case growing && !t.Doubt && !t.lowering():
		return 0
	case t.Watch || t.Doubt || growing || t.Deadline < t.extent || t.lowering():
		return t.Next
	}
	return Never
}

// lasts reports whether the lease lasts as long as w needs it.
func (t *Lease) lasts(now Time, w *Waiter) bool {
	switch {
	case now+w.Least > t.Deadline:
		return false
	case w.Watch:
		return t.Watch
	}
	return now+w.Lease-margin(w.Lease) <= t.extent
}

// suspect has Redis asked at that time at the latest whether the lease is there; nothing is handed on until then.
func (t *Lease) suspect(at Time) {
	if t.phase == ours {
		t.Doubt, t.Next = true, min(t.Next, at)
	}
}

// prolonged notes what a command about the lease, which has come back, may have done to its key. The kind calls it
// before anything else: what is lost in this moment is released for as long as its key may stand.
func (t *Lease) prolonged(now Time, c *Command) {
	if c.ID != t.ID || !Operations[c.Op].prolongs {
		return
	}
	switch c.Result {
	case Answered, UnderReplicated:
		t.carried(now, c.Lease)
	case Unknown:
		t.carried(now+LateWindow, c.Lease)
	}
}

// fresh is rule 8: a lease may be handed to another caller of this process without asking Redis, for a while after
// Redis confirmed it, unless something unusual was seen since or the link has broken since.
func (t *Lease) fresh(now Time, cfg *Config) bool {
	return now < t.Deadline && now-t.Confirmed < cfg.HandoffTime && !t.Doubt && t.Epoch == cfg.Epoch
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
func (t *Lease) released(c *Command) (why Why, gone bool) {
	switch {
	case c.Result != Answered:
		return Doubtful, false
	case freed(c.Reply) || c.Reply == scripts.NotMine && t.Resent:
		return Granted, true
	}
	return Lost, c.Reply == scripts.NotMine
}

// unreleased notes a release, or a downgrade, that proved nothing.
func (t *Lease) unreleased(c *Command, tries *retries) (out Outcome, pause time.Duration) {
	if c.Result == Unknown {
		t.Resent = t.Resent || c.Sent < t.Deadline
	}
	return unfreed(c, tries)
}

// orphan is the owner id of an lease that is gone, while an acquire of it may arrive after the command that found it
// gone or freed it: it is released once more when none can (rule 12).
//
//  1. An acquire gets no answer; a copy of it waits somewhere in the network.
//  2. The acquire is sent again and granted. Later the release frees the lock.
//  3. The copy arrives and takes the lock, for nobody.
func (t *Lease) orphan(release Op) orphan {
	return orphan{id: t.ID, op: release, at: t.Unsure, ends: t.Ends}
}

// The living holds of one lease. A read lock has thousands: nothing but a renewal and the end of a hold's own time
// walks through all of them.

func (t *Lease) add(h *Hold, stats *Stats) {
	if t.holds == nil {
		t.soonest = Never
	} else {
		t.holds.prev = h
	}
	h.next, h.prev, t.holds = t.holds, nil, h
	t.soonest = min(t.soonest, h.until)
	if h.write {
		t.writes++
	}
	if h.watch {
		t.watched++
		if t.atRisk {
			h.risk(stats, Outcome{Why: Doubtful})
		}
	}
}

// holdOf is the newest hold of that Owner; nil: there is none.
func (t *Lease) holdOf(owner uint64) *Hold {
	for h := t.holds; h != nil && owner != 0; h = h.next {
		if h.owner() == owner {
			return h
		}
	}
	return nil
}

// end takes a hold out. Without a watched hold the watchdog stops; but the last hold's tenure may be handed
// on as it is.
func (t *Lease) end(h *Hold, stats *Stats) {
	if h.prev == nil {
		t.holds = h.next
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
		t.writes--
		t.lowerFirst()
	}
	if h.watch {
		t.watched--
		if t.atRisk {
			stats.AtRisk.Dec()
		}
	}
	t.Watch = t.watched > 0 || t.holds == nil && t.Watch
}

// endAll ends every hold and tells its holder.
func (t *Lease) endAll(stats *Stats, why Why) {
	for t.holds != nil {
		t.tell(t.holds, stats, why)
	}
}

// lowering reports whether the writes have ended and reads of the same Owner are left: a downgrade is due.
func (t *Lease) lowering() bool { return t.phase == ours && t.write && t.writes == 0 && t.holds != nil }

// isDue reports whether the time of a hold may be over, or that of the lease.
func (t *Lease) isDue(now Time) bool { return t.phase == ours && now >= t.nextEnd() }

// expired ends the holds that are over by time. ended: there were some. over: the lease is over by that, and is to be
// freed. What ended by its own lease is released, and not left to its TTL (rule 1).
func (t *Lease) expired(now Time, stats *Stats) (ended, over bool) {
	if now >= t.Deadline {
		ended = t.holds != nil
		t.endAll(stats, Lost)
		return ended, true
	}
	ended = t.expire(now, stats)
	return ended, ended && t.holds == nil
}

// expire ends the holds that are over by their own time.
func (t *Lease) expire(now Time, stats *Stats) (ended bool) {
	if t.holds == nil || now < t.soonest {
		return false
	}
	t.soonest = Never
	for h := t.holds; h != nil; {
		next := h.next
		if now >= h.until {
			why := Lost
			if h.watch {
				why = TooLong
			}
			t.tell(h, stats, why)
			ended = true
		} else {
			t.soonest = min(t.soonest, h.until)
		}
		h = next
	}
	return ended
}

func (t *Lease) tell(h *Hold, stats *Stats, why Why) {
	t.end(h, stats)
	h.why = why
	stats.Lost.Inc()
	h.By.End(why)
}

// nextEnd is when the first hold ends, unless the tenure is renewed; perhaps earlier, after a hold was
// unlocked or extended.
func (t *Lease) nextEnd() Time {
	if t.holds == nil {
		return t.Deadline
	}
	return min(t.Deadline, t.soonest)
}

// follow passes the tenure's new deadline on to its holds.
func (t *Lease) follow() {
	for h := t.holds; h != nil; h = h.next {
		h.follow(&t.Tenure)
	}
}

func (t *Lease) oldest() Time {
	oldest := Never
	for h := t.holds; h != nil; h = h.next {
		oldest = min(oldest, h.Since())
	}
	return oldest
}
