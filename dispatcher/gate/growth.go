package gate

import (
	"slices"
	"time"
)

// growths are the re-entries and the extensions that need a longer lease than there is: they are granted only after a renewal was answered
// (invariant: hold-within-tenure).
type growths struct {
	waiters    waiters // the re-entries
	extensions []extension
}

// extension is an Extend that waits.
type extension struct {
	h     *Hold
	lease time.Duration
	since Time // the new lease counts from here
	ack   Settler
}

// growths are those of one lease.
func (l *Lock) growths(of *Lease) *growths {
	if rw := l.contest.rw; rw != nil && of == &rw.second {
		return &rw.growing
	}
	return &l.contest.rivals.growing
}

// add adds a re-entry of g.
func (gs *growths) add(w *Waiter, g *Lease) {
	w.asked, w.place = true, g.ID
	gs.waiters.push(w)
}

// any reports whether there is one.
func (gs *growths) any() bool { return gs.waiters.head != nil || len(gs.extensions) > 0 }

// longest is the longest lease that one waits for.
func (gs *growths) longest() (lease time.Duration) {
	for w := gs.waiters.head; w != nil; w = w.next {
		lease = max(lease, w.takes(w.Lease))
	}
	for _, e := range gs.extensions {
		lease = max(lease, e.lease)
	}
	return lease
}

// forget takes out a re-entry.
func (gs *growths) forget(w *Waiter) {
	gs.waiters.remove(w)
	w.asked, w.place = false, 0
}

// take takes out and returns the re-entries that chosen picks.
func (gs *growths) take(chosen func(*Waiter) bool) (taken []*Waiter) {
	for w := gs.waiters.head; w != nil; {
		next := w.next
		if chosen(w) {
			gs.forget(w)
			taken = append(taken, w)
		}
		w = next
	}
	return taken
}

// dismiss takes out the re-entries that chosen picks, and answers them.
func (gs *growths) dismiss(cfg *Config, out Outcome, chosen func(*Waiter) bool) {
	for _, w := range gs.take(chosen) {
		cfg.Answer(w, out)
	}
}

// settleRenewed grants what the renewal c of a lease made possible; admit grants a re-entry.
func (gs *growths) settleRenewed(c *Command, of *Lease, admit func(*Waiter)) {
	if !gs.any() { // noRivals is never written to
		return
	}
	gs.extensions = slices.DeleteFunc(gs.extensions, func(e extension) bool {
		renewed := e.lease <= c.Lease && c.Sent >= e.since
		switch {
		case !renewed:
		case e.h.alive:
			of.extend(e.h, c.Sent+e.lease-margin(e.lease))
			settle(e.ack, Outcome{})
		default:
			settle(e.ack, Outcome{Why: e.h.why})
		}
		return renewed
	})
	for _, w := range gs.take(func(w *Waiter) bool { return w.takes(w.Lease) <= c.Lease }) {
		admit(w)
	}
}

// settleEnded settles those of a lease that has ended: extensions are lost, requeue treats re-entries like any request.
func (gs *growths) settleEnded(requeue func(*Waiter)) {
	if !gs.any() {
		return
	}
	for _, e := range gs.extensions {
		settle(e.ack, Outcome{Why: e.h.why})
	}
	gs.extensions = nil
	for _, w := range gs.take(everyone) {
		requeue(w)
	}
}
