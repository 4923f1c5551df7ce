package gate

import (
	"time"

	"github.com/wheellock/wheellock/scripts"
)

// phase is what is known in this process of an ownership in Redis.
type phase uint8

const (
	free  phase = iota // it is surely gone, or was never asked for
	asked              // an acquire was sent; whether it took the lock is not known
	ours               // it stands until its deadline
	dead               // it must go: a release is to be sent, or was sent
)

// ownership is one tenure from the first question for it until it is surely gone from Redis, with its living holds.
// Every kind that asks for owners in Redis uses it: a Mutex has one, an RW one for its writer or up to maxShares for
// its readers. It answers an event with what follows; the kind knows which callers may hold, which operations acquire, renew
// and release, and which callers are to be told.
//
//	free  -> asked  ask
//	asked -> ours   granted
//	asked -> free   refused; declined, unless an acquire before this one got no answer
//	ours  -> ours   renewed: kept, or doubtful until the next answer
//	ours  -> free   gone: Redis says that the owner is not there
//	ours  -> dead   drop: the last hold ended, or the deadline passed
//	dead  -> free   released, or Ends passed: no command can reach it, and its lease has run out in Redis
//
// The permits of Permits are no ownerships: their one call is repeated under its number until Redis has answered
// (sequenceranswers.go), so that no permit is ever in doubt, asked for twice, or left behind as an orphan.
type ownership struct {
	Tenure
	holds   *Hold // newest first
	soonest Time  // none of them ends by its own time before this
	watched int32 // how many of them the watchdog keeps
	handed  uint8 // how often the tenure was handed on since its last confirmation, up to aheadAfter
	atRisk  bool  // its watched holds were told so, and nothing was confirmed since

	phase     phase
	suspected bool // it was suspected after the command in flight was asked for
}

// ask begins an ownership under a fresh owner id.
func (t *ownership) ask(id uint64, lease time.Duration, watch bool) {
	t.Tenure = Tenure{ID: id, Lease: lease, Watch: watch}
	t.phase = asked
}

// askFor prepares the repetition of an acquire that lost its answer, under the same owner id, for w.
func (t *ownership) askFor(w *Waiter) {
	t.Lease, t.Watch = max(t.Lease, w.Lease), w.Watch && w.Lease >= t.Lease
}

// declined is an acquire that surely did nothing. An acquire before it that got no answer may have taken the lock: then
// the same owner asks again, or is released.
func (t *ownership) declined() {
	if t.Unsure == 0 {
		t.phase = free
	}
}

// confirm counts the lease from when c left, and begins to count handoffs anew. No hold is at risk any more.
func (t *ownership) confirm(now Time, c *Command, lease time.Duration, stats *Stats) {
	t.Tenure.confirm(now, c, lease)
	t.handed = 0
	t.risk(stats, Outcome{})
}

// doubt notes a renewal that proved nothing: the ownership is doubtful, so that it is not handed on, and it is asked for
// again until its deadline.
func (t *ownership) doubt(now Time, c *Command, tries *retries) {
	t.Doubt = true
	lease := t.Lease
	if t.Deadline-now <= claimTime { // however long the lease is, several attempts fit into the last seconds; a claim has no more
		lease = min(lease, claimTime)
	}
	t.RenewAt = now + within(tries.next(t.ID), lease)
	if c.Result == NotSent {
		t.RenewAt = now + t.Lease/10 // LinkUp comes earlier
	}
}

// suspect has Redis asked at that time at the latest whether the ownership is there; nothing is handed on until then.
func (t *ownership) suspect(at Time) {
	if t.phase == ours {
		t.Doubt, t.RenewAt = true, min(t.RenewAt, at)
	}
}

// prolonged notes what a command about the ownership, which has come back, may have done to its key. The kind calls it
// before anything else: what is lost in this moment is released for as long as its key may stand.
func (t *ownership) prolonged(now Time, c *Command) {
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

// fresh is rule 8: an ownership may be handed to another caller of this process without asking Redis, for a while after
// Redis confirmed it, unless something unusual was seen since or the link has broken since.
func (t *ownership) fresh(now Time, cfg *Config) bool {
	return now < t.Deadline && now-t.Confirmed < cfg.HandoffTime && !t.Doubt && t.Epoch == cfg.Epoch
}

// released takes the answer to a release. gone: nothing of the ownership is left, but for an orphan; why is for the
// caller of Unlock. Else the release is sent again, until Ends.
//
// A release that Redis answers with "not this owner's" after one without an answer:
//
//  1. The release leaves before the deadline. Its answer is lost.
//  2. It is sent again. The owner is not there.
//
// The first release did it, for nothing else ends an ownership before its deadline: the unlocking went well (rule 4).
func (t *ownership) released(c *Command) (why Why, gone bool) {
	switch {
	case c.Result != Answered:
		return Doubtful, false
	case freed(c.Reply) || c.Reply == scripts.NotMine && t.Resent:
		return Granted, true
	}
	return Lost, c.Reply == scripts.NotMine
}

// unreleased notes a release, or a downgrade, that proved nothing.
func (t *ownership) unreleased(c *Command, tries *retries) (out Outcome, pause time.Duration) {
	if c.Result == Unknown {
		t.Resent = t.Resent || c.Sent < t.Deadline
	}
	return unfreed(c, tries)
}

// orphan is the owner id of an ownership that is gone, while an acquire of it may arrive after the command that found it
// gone or freed it: it is released once more when none can (rule 12).
//
//  1. An acquire gets no answer; a copy of it waits somewhere in the network.
//  2. The acquire is sent again and granted. Later the release frees the lock.
//  3. The copy arrives and takes the lock, for nobody.
func (t *ownership) orphan(release Op) orphan {
	return orphan{id: t.ID, op: release, at: t.Unsure, ends: t.Ends}
}

// The living holds of one ownership. A read lock has thousands: nothing but a renewal and the end of a hold's own time
// walks through all of them.

func (t *ownership) add(h *Hold, stats *Stats) {
	if t.holds == nil {
		t.soonest = Never
	} else {
		t.holds.prev = h
	}
	h.next, h.prev, t.holds = t.holds, nil, h
	t.soonest = min(t.soonest, h.until)
	if h.watch {
		t.watched++
		if t.atRisk {
			h.risk(stats, Outcome{Why: Doubtful})
		}
	}
}

// holdOf is the newest hold of that Owner; nil: there is none.
func (t *ownership) holdOf(owner uint64) *Hold {
	for h := t.holds; h != nil; h = h.next {
		if h.owner() == owner {
			return h
		}
	}
	return nil
}

// end takes a hold out. Without a watched hold the watchdog stops; but the last hold's tenure may be handed
// on as it is.
func (t *ownership) end(h *Hold, stats *Stats) {
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
	if h.watch {
		t.watched--
		if t.atRisk {
			stats.AtRisk.Dec()
		}
	}
	t.Watch = t.watched > 0 || t.holds == nil && t.Watch
}

// endAll ends every hold and tells its holder.
func (t *ownership) endAll(stats *Stats, why Why) {
	for t.holds != nil {
		t.tell(t.holds, stats, why)
	}
}

// isDue reports whether the time of a hold may be over, or that of the ownership.
func (t *ownership) isDue(now Time) bool { return t.phase == ours && now >= t.nextEnd() }

// expired ends the holds that are over by time. ended: there were some. over: the ownership is over by that, and is to be
// freed. What ended by its own lease is released, and not left to its TTL (rule 1).
func (t *ownership) expired(now Time, stats *Stats) (ended, over bool) {
	if now >= t.Deadline {
		ended = t.holds != nil
		t.endAll(stats, Lost)
		return ended, true
	}
	ended = t.expire(now, stats)
	return ended, ended && t.holds == nil
}

// expire ends the holds that are over by their own time.
func (t *ownership) expire(now Time, stats *Stats) (ended bool) {
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

func (t *ownership) tell(h *Hold, stats *Stats, why Why) {
	t.end(h, stats)
	h.why = why
	stats.Lost.Inc()
	h.By.End(why)
}

// nextEnd is when the first hold ends, unless the tenure is renewed; perhaps earlier, after a hold was
// unlocked or extended.
func (t *ownership) nextEnd() Time {
	if t.holds == nil {
		return t.Deadline
	}
	return min(t.Deadline, t.soonest)
}

// follow passes the tenure's new deadline on to its holds.
func (t *ownership) follow() {
	for h := t.holds; h != nil; h = h.next {
		h.follow(&t.Tenure)
	}
}

func (t *ownership) oldest() Time {
	oldest := Never
	for h := t.holds; h != nil; h = h.next {
		oldest = min(oldest, h.Since())
	}
	return oldest
}
