package gate

// The living holds of one ownership. A read lock has thousands: nothing but a renewal and the end of a hold's own time
// walks through all of them.

func (t *ownership) add(h *Hold) {
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

// expired ends the holds whose time is over. ended: there were some. over: the ownership is over by that, and is to be
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

// expire ends the holds whose own time is over.
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
