package gate

import "time"

// Tenure is one ownership of a name in Redis, under one owner id that is never used again.
type Tenure struct {
	ID        uint64
	Lease     time.Duration
	Deadline  Time   // when it ends for us: sent + lease - margin of the last command that confirmed it
	RenewAt   Time   // when the watchdog renews it
	Confirmed Time   // when the last answer said that it is ours
	Unsure    Time   // until when an acquire that got no answer may still run in Redis; 0: none such
	Ends      Time   // when the key has surely run out in Redis, if nothing more is sent for it
	Epoch     uint32 // of the link that it was confirmed over
	Watch     bool   // the watchdog renews it
	Doubt     bool   // something unusual was seen since the last confirmation: no handoff (rule 8)
	Resent    bool   // a release left before the deadline and got no answer
	Stretched bool   // its key may have been given more than Lease: it is not handed on (rule 1)
}

// confirm counts the lease from when the command left that confirmed the tenure. If the link has broken since
// it was asked for, the tenure still belongs to the link before.
func (t *Tenure) confirm(now Time, c *Command) {
	t.Deadline = max(t.Deadline, c.Sent+c.Lease-margin(c.Lease))
	t.RenewAt = c.Sent + t.Lease/3
	t.carried(now, c.Lease)
	t.Confirmed, t.Epoch, t.Doubt = now, c.Epoch, false
}

// carried notes that a command with this lease has run by then, or may have: the key's TTL counts from there.
func (t *Tenure) carried(by Time, lease time.Duration) {
	t.Ends = max(t.Ends, by+lease+2*margin(lease))
	t.Stretched = t.Stretched || lease > t.Lease
}

// LateWindow is how long after it was sent an acquire may still take the lock: the script refuses it
// afterwards by the server's clock (rule 12). A link that takes longer than this is no link.
const LateWindow = 2 * time.Second

// unsure notes that an acquire sent then got no answer.
func (t *Tenure) unsure(sent Time) {
	t.Unsure = lateAfter(sent)
	t.carried(t.Unsure, t.Lease)
}

// lateAfter is when an acquire sent then cannot run any more. A quarter of a second allows for what the engine
// knows of the server's clock.
func lateAfter(sent Time) Time { return sent + LateWindow + 250*time.Millisecond }

// phase is what is known of a name's tenure in Redis.
type phase uint8

const (
	free  phase = iota // no tenure of ours is there
	asked              // an acquire was sent; whether it took the lock is not known
	ours               // it stands until its deadline
	dead               // it must go: a release is to be sent, or was sent
)

// tenancy is a tenure with its living holds. A read lock has thousands, so that nothing but a renewal and
// the end of a hold's own time looks at all of them.
type tenancy struct {
	Tenure
	holds   *Hold  // newest first
	soonest Time   // none of them ends by its own time before this
	watched int32  // how many of them the watchdog keeps
	handed  uint16 // how often the tenure was handed on since its last confirmation

	phase     phase
	suspected bool // it was suspected after the command in flight was asked for
}

// confirm is Tenure's, and begins to count handoffs anew.
func (t *tenancy) confirm(now Time, c *Command) {
	t.Tenure.confirm(now, c)
	t.handed = 0
}

func (t *tenancy) add(h *Hold) {
	if t.holds == nil {
		t.soonest = Never
	} else {
		t.holds.prev = h
	}
	h.next, h.prev, t.holds = t.holds, nil, h
	t.soonest = min(t.soonest, h.until)
	if h.watch {
		t.watched++
	}
}

func (t *tenancy) holdOf(owner uint64) *Hold {
	for h := t.holds; h != nil; h = h.next {
		if h.owner() == owner {
			return h
		}
	}
	return nil
}

// end takes a hold out. Without a watched hold the watchdog stops; but the last hold's tenure may be handed
// on as it is.
func (t *tenancy) end(h *Hold, stats *Stats) {
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
	}
	t.Watch = t.watched > 0 || t.holds == nil && t.Watch
}

// endAll ends every hold and tells its holder.
func (t *tenancy) endAll(stats *Stats, why Why) {
	for t.holds != nil {
		t.tell(t.holds, stats, why)
	}
}

// expire ends the holds whose own time is over.
func (t *tenancy) expire(now Time, stats *Stats) (ended bool) {
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

func (t *tenancy) tell(h *Hold, stats *Stats, why Why) {
	t.end(h, stats)
	h.why = why
	stats.Lost.Inc()
	h.By.End(why)
}

// nextEnd is when the first hold ends, unless the tenure is renewed; perhaps earlier, after a hold was
// unlocked or extended.
func (t *tenancy) nextEnd() Time {
	if t.holds == nil {
		return t.Deadline
	}
	return min(t.Deadline, t.soonest)
}

// follow passes the tenure's new deadline on to its holds.
func (t *tenancy) follow() {
	for h := t.holds; h != nil; h = h.next {
		h.follow(&t.Tenure)
	}
}

func (t *tenancy) oldest() Time {
	oldest := Never
	for h := t.holds; h != nil; h = h.next {
		oldest = min(oldest, Time(h.since)*sinceUnit)
	}
	return oldest
}
