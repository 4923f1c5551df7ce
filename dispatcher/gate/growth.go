package gate

import (
	"slices"
	"time"
)

// growth is a re-entry or an extension that needs a longer lease than there is: it is granted only after a renewal was answered
// (invariant: hold-within-tenure).
type growth struct {
	of    *Lease
	w     *Waiter // a re-entry; else nil
	h     *Hold   // an extension: the hold to extend
	lease time.Duration
	since Time // an extension: the new lease counts from here
	ack   Settler
}

// growths are those of one name.
type growths []growth

func (gs *growths) add(g growth) { *gs = append(*gs, g) }

// lease is the longest that a growth of this Lease waits for. some: there is one.
func (gs growths) lease(of *Lease) (lease time.Duration, some bool) {
	for _, g := range gs {
		if g.of == of {
			lease, some = max(lease, g.lease), true
		}
	}
	return lease, some
}

// take removes and returns the growths that chosen picks.
func (gs *growths) take(chosen func(g *growth) bool) (taken growths) {
	if len(*gs) == 0 {
		return nil
	}
	*gs = slices.DeleteFunc(*gs, func(g growth) bool {
		picked := chosen(&g)
		if picked {
			taken = append(taken, g)
		}
		return picked
	})
	return taken
}

// forget removes a re-entry that has given up. False: it is not there.
func (gs *growths) forget(w *Waiter) bool {
	return len(gs.take(func(g *growth) bool { return g.w == w })) > 0
}

// dismiss removes the re-entries that chosen picks, and answers them: those of one Lease, or all if of is nil.
func (gs *growths) dismiss(cfg *Config, of *Lease, out Outcome, chosen func(*Waiter) bool) {
	for _, g := range gs.take(func(g *growth) bool { return (of == nil || g.of == of) && g.w != nil && chosen(g.w) }) {
		cfg.Answer(g.w, out)
	}
}

// settleRenewed grants what the renewal c made possible; admit grants a re-entry.
func (gs *growths) settleRenewed(c *Command, of *Lease, admit func(*Waiter)) {
	for _, g := range gs.take(func(g *growth) bool { return g.of == of && g.lease <= c.Lease && c.Sent >= g.since }) {
		switch {
		case g.w != nil:
			admit(g.w)
		case g.h.alive:
			g.h.extend(c.Sent+g.lease-margin(g.lease), &of.Tenure)
			settle(g.ack, Outcome{})
		default:
			settle(g.ack, Outcome{Why: g.h.why})
		}
	}
}

// settleEnded settles the growths of a Lease that has ended: extensions are lost, requeue treats re-entries like any request.
func (gs *growths) settleEnded(of *Lease, requeue func(*Waiter)) {
	for _, g := range gs.take(func(g *growth) bool { return g.of == of }) {
		if g.w == nil {
			settle(g.ack, Outcome{Why: g.h.why})
		} else {
			requeue(g.w)
		}
	}
}
