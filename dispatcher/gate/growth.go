package gate

import (
	"slices"
	"time"
)

// growth is a re-entry or an extension that needs more of a lease than it has: it is granted only after a renewal says so (rule 2).
type growth struct {
	of    *Lease
	w     *Waiter // a re-entry; else nil
	h     *Hold   // the hold to extend
	lease time.Duration
	since Time // an extension counts from here
	ack   Settler
}

// growths are those of one name.
type growths []growth

func (gs *growths) add(g growth) { *gs = append(*gs, g) }

// lease is the largest that somebody waits for.
func (gs growths) lease(of *Lease) (lease time.Duration, some bool) {
	for _, g := range gs {
		if g.of == of {
			lease, some = max(lease, g.lease), true
		}
	}
	return lease, some
}

// take takes out those that chosen picks.
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

// forget leaves out a re-entry: its caller waits no longer. False: it is not among them.
func (gs *growths) forget(w *Waiter) bool {
	return len(gs.take(func(g *growth) bool { return g.w == w })) > 0
}

// dismiss answers the re-entries under a lease, or under any if that is nil, that chosen picks, and forgets them.
func (gs *growths) dismiss(cfg *Config, of *Lease, out Outcome, chosen func(*Waiter) bool) {
	for _, g := range gs.take(func(g *growth) bool { return (of == nil || g.of == of) && g.w != nil && chosen(g.w) }) {
		cfg.Answer(g.w, out)
	}
}

// settleRenewed settles what a renewal of a lease by c has made possible; enter lets re-entries in.
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

// settleEnded ends what waited for a lease that has ended: extensions are lost, re-entries go to the queue like
// anybody's requests.
func (gs *growths) settleEnded(of *Lease, requeue func(*Waiter)) {
	for _, g := range gs.take(func(g *growth) bool { return g.of == of }) {
		if g.w == nil {
			settle(g.ack, Outcome{Why: g.h.why})
		} else {
			requeue(g.w)
		}
	}
}
