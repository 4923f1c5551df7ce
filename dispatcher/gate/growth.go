package gate

import (
	"slices"
	"time"
)

// growth is a re-entry or an extension that needs more of the lease than the tenure has: it is granted
// only after a renewal says so (rule 2).
type growth struct {
	w     *Waiter // a re-entry; else nil
	h     *Hold   // the hold to extend
	lease time.Duration
	since Time // an extension counts from here
	ack   Settler
}

// growths are those of one tenure. A nil *growths has none.
type growths []growth

func (gs *growths) add(g growth) { *gs = append(*gs, g) }

// lease is the largest that somebody waits for.
func (gs *growths) lease() (lease time.Duration, some bool) {
	if gs == nil {
		return 0, false
	}
	for _, g := range *gs {
		lease = max(lease, g.lease)
	}
	return lease, len(*gs) > 0
}

// grown settles what a renewal of t with c's lease has made possible; enter lets re-entries in.
func (gs *growths) grown(c *Command, t *ownership, enter func(*Waiter)) {
	if gs == nil {
		return
	}
	var now, left growths
	for _, g := range *gs {
		if g.lease > c.Lease || c.Sent < g.since {
			left = append(left, g)
		} else {
			now = append(now, g)
		}
	}
	*gs = left // first: a caller that is let in may ask for more
	for _, g := range now {
		switch {
		case g.w != nil:
			enter(g.w)
		case g.h.alive:
			g.h.prolong(c.Sent+g.lease-margin(g.lease), &t.Tenure)
			settle(g.ack, Outcome{})
		default:
			settle(g.ack, Outcome{Why: g.h.why})
		}
	}
}

// forget leaves out a re-entry: its caller waits no longer. False: it is not among them.
func (gs *growths) forget(w *Waiter) bool {
	if gs == nil {
		return false
	}
	i := slices.IndexFunc(*gs, func(g growth) bool { return g.w == w })
	if i >= 0 {
		*gs = slices.Delete(*gs, i, i+1)
	}
	return i >= 0
}

// turnAway answers the re-entries that chosen picks and forgets them.
func (gs *growths) turnAway(cfg *Config, out Outcome, chosen func(*Waiter) bool) {
	if gs == nil {
		return
	}
	*gs = slices.DeleteFunc(*gs, func(g growth) bool {
		if g.w == nil || !chosen(g.w) {
			return false
		}
		cfg.Answer(g.w, out)
		return true
	})
}

// abort ends what waited for a tenure that has ended: extensions are lost, re-entries go to the queue like
// anybody's requests.
func (gs *growths) abort(queue func(*Waiter)) {
	if gs == nil {
		return
	}
	growing := *gs
	*gs = nil
	for _, g := range growing {
		if g.w == nil {
			settle(g.ack, Outcome{Why: g.h.why})
		} else {
			queue(g.w)
		}
	}
}
