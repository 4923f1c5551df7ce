package gate

// Warned is an Ender whose holder is told when a renewal is overdue, before the hold is lost by it (invariant: warned-once).
//
// A renewal is overdue when half of the time is over that the last confirmation gave, and since then a command has come back in vain,
// or has been on its way for a tenth of that time. The watchdog's first attempt leaves after a third of the lease. So what is over within
// a sixth of the lease is not told, and whoever is told has half of the lease left, or three tenths if the last attempt before failed just before that. The second condition is for a
// process that stood still: its first command afterwards may find all well.
type Warned interface {
	Ender
	AtRisk(why Outcome) // the renewal is overdue, because of why; neither blocks nor runs code of users
	Renewed()           // it was renewed after all; likewise
}

// half is when half of the time is over that the last confirmation gave.
func (t *Tenure) half() Time { return t.Confirmed + (t.Deadline-t.Confirmed)/2 }

// overdueAt is when a renewal that has been on its way since then is overdue.
func (t *Tenure) overdueAt(since Time) Time {
	return max(t.half(), since+(t.Deadline-t.Confirmed)/10)
}

// riskAt is when the watched holds are at risk unless a command comes back that is on its way; Never: they are told, or none is.
func (t *ownership) riskAt(out bool) Time {
	if !out || t.watched == 0 || t.atRisk {
		return Never
	}
	return t.overdueAt(t.RenewAt)
}

// warn tells the watched holds that they are at risk, unless that was done since the last confirmation.
func (t *ownership) warn(stats *Stats, why Outcome) {
	if t.atRisk {
		return
	}
	t.atRisk = true
	for h := t.holds; h != nil; h = h.next {
		h.warn(stats, why)
	}
}

// safe tells those that were told so that they are not at risk any more.
func (t *ownership) safe(stats *Stats) {
	if !t.atRisk {
		return
	}
	t.atRisk = false
	for h := t.holds; h != nil; h = h.next {
		h.safe(stats)
	}
}

func (h *Hold) warn(stats *Stats, why Outcome) {
	if !h.watch {
		return
	}
	stats.AtRisk.Inc()
	if by, is := h.By.(Warned); is {
		by.AtRisk(why)
	}
}

func (h *Hold) safe(stats *Stats) {
	if !h.watch {
		return
	}
	stats.AtRisk.Dec()
	if by, is := h.By.(Warned); is {
		by.Renewed()
	}
}
