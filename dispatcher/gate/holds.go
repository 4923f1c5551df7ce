package gate

import (
	"iter"
	"sync/atomic"
)

// holds are the living holds of a lease. Most leases have one. Readers may be thousands, each with an end of its own, so the others are a heap, and a
// renewal moves one deadline for all of them (invariant: cost-of-an-event).
type holds struct {
	first *Hold   // ends first by its own time; nil: there is none
	more  *others // nil: there were none
}

// others are the holds of a lease besides the first, ordered by their own ends.
type others struct {
	heap  timed[*Hold]
	until *atomic.Int64 // the deadline of the tenure, which all holds share but alone
	alone *Hold         // the hold that was granted before there were others; nil: it has ended

	renewer bool // a Renewer was among them, or is the first
}

// share has a hold of t that is about to be granted share its deadline with the others, if there are any.
func (hs *holds) share(h *Hold, t *Tenure) {
	switch {
	case hs.first == nil:
		hs.more = nil
		return
	case hs.more == nil:
		hs.more = &others{alone: hs.first, until: new(atomic.Int64), renewer: hs.first.renewer() != nil}
		hs.more.until.Store(int64(t.Deadline))
	}
	hs.more.renewer = hs.more.renewer || h.renewer() != nil
	h.tenure = hs.more.until
}

// follow passes the deadline of t on.
func (hs *holds) follow(t *Tenure) {
	alone := hs.first
	if hs.more != nil {
		hs.more.until.Store(int64(t.Deadline))
		alone = hs.more.alone
	}
	if alone != nil {
		alone.follow(t)
	}
}

// notifyRenewers notifies the watched holds that the lease is about to be renewed. Thousands of which none wants to know cost nothing.
func (hs *holds) notifyRenewers() {
	if hs.more != nil && !hs.more.renewer {
		return
	}
	for h := range hs.all() {
		h.notifyRenewal()
	}
}

// add adds a hold that was granted.
func (hs *holds) add(h *Hold) {
	switch first := hs.first; {
	case first == nil:
		hs.first = h
		return
	case h.until.at < first.until.at:
		hs.first, h = h, first
	}
	hs.more.heap.put(h, h.until.at)
}

// remove removes a hold that has ended.
func (hs *holds) remove(h *Hold) {
	hs.take(h)
	if hs.more != nil && hs.more.alone == h {
		hs.more.alone = nil
	}
}

// extend moves the own end of a hold.
func (hs *holds) extend(h *Hold, until Time, t *Tenure) {
	hs.take(h)
	h.until.at = until
	h.follow(t)
	hs.add(h)
}

func (hs *holds) take(h *Hold) {
	switch {
	case h != hs.first:
		hs.more.heap.drop(h)
	case hs.more == nil || hs.more.heap.Len() == 0:
		hs.first = nil
	default:
		hs.first = hs.more.heap.all[0]
		hs.more.heap.drop(hs.first)
	}
}

// all yields all holds. None may be added or removed meanwhile.
func (hs *holds) all() iter.Seq[*Hold] {
	return func(yield func(*Hold) bool) {
		if hs.first == nil || !yield(hs.first) || hs.more == nil {
			return
		}
		for _, h := range hs.more.heap.all {
			if !yield(h) {
				return
			}
		}
	}
}
