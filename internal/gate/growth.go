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
	ack   Settler
}

func (g *growth) settle(cfg *Config, out Outcome) {
	if g.w != nil {
		cfg.Answer(g.w, out)
	} else {
		settle(g.ack, out)
	}
}

// growths are those of one tenure.
type growths []growth

func (gs *growths) add(g growth) { *gs = append(*gs, g) }

// lease is the largest that somebody waits for.
func (gs growths) lease() (lease time.Duration, any bool) {
	for _, g := range gs {
		lease = max(lease, g.lease)
	}
	return lease, len(gs) > 0
}

// grown settles what a renewal of t with c's lease has made possible; enter lets re-entries in.
func (gs *growths) grown(c *Command, t *tenancy, enter func(*Waiter)) {
	var now, left growths
	for _, g := range *gs {
		if g.lease > c.Lease {
			left = append(left, g)
		} else {
			now = append(now, g)
		}
	}
	*gs = left // first: who is let in may ask for more
	for _, g := range now {
		switch {
		case g.w != nil:
			enter(g.w)
		case g.h.alive:
			g.h.until = max(g.h.until, c.Sent+g.lease-margin(g.lease))
			g.h.follow(&t.Tenure)
			settle(g.ack, Outcome{})
		default:
			settle(g.ack, Outcome{Why: Lost})
		}
	}
}

// forget leaves out a re-entry whose caller has gone.
func (gs *growths) forget(w *Waiter) {
	if i := slices.IndexFunc(*gs, func(g growth) bool { return g.w == w }); i >= 0 {
		*gs = slices.Delete(*gs, i, i+1)
	}
}

// turnAway tells those who ask only once that the renewal they need got no answer.
func (gs *growths) turnAway(cfg *Config, why Why) {
	*gs = slices.DeleteFunc(*gs, func(g growth) bool {
		if g.w == nil || !g.w.Try {
			return false
		}
		cfg.Answer(g.w, Outcome{Why: why})
		return true
	})
}

// abort ends what waited for a tenure that has ended: extensions are lost, re-entries go to the queue like
// anybody's requests.
func (gs *growths) abort(cfg *Config, queue func(*Waiter)) {
	growing := *gs
	*gs = nil
	for _, g := range growing {
		switch {
		case g.w == nil:
			settle(g.ack, Outcome{Why: Lost})
		case g.w.Try:
			cfg.Answer(g.w, Outcome{Why: Taken})
		default:
			queue(g.w)
		}
	}
}

// drain settles all alike.
func (gs *growths) drain(cfg *Config, out Outcome) {
	growing := *gs
	*gs = nil
	for _, g := range growing {
		g.settle(cfg, out)
	}
}
