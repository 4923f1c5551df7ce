package engine

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/wheellock/wheellock/wheel/stall"
)

// repairs get the Hold of a QuorumLock the parts that it lacks (invariant: quorum-counts-living-parts): those of servers that
// were late, down or held by another owner when it was granted, and those that servers have lost since. As the watchdog
// renews a part, a server without one is asked again after a third of the lease, and for one that it has lost not before all other
// parts were due for a renewal. Only a server without a part has a timer.
type repairs struct {
	of    *several
	opts  []LockOption // the note of the call, which late parts have, too
	fixed bool

	// Guarded by the mutex of the composite.
	lease   time.Duration // of a fixed lease; otherwise each engine has its own
	end     time.Time     // of a fixed lease: no part is asked for beyond it
	servers []missing     // in the order of the members
}

// missing is what is known of a server that has no part, or had none.
type missing struct {
	asked time.Time   // the last time
	noted bool        // the Observer was notified that it has no part
	timer *time.Timer // asks it again; nil: it was never without a part
}

// renewed is what a hold has as its lease on the i-th server.
func (r *repairs) renewed(i int) time.Duration {
	if r.fixed {
		return r.lease
	}
	return r.of.members[i].home().opts.Lease
}

// setMissing notes that a server has no part, because of err, and has that server asked again while the hold lasts. gone is the part
// that ended; nil: the server granted none.
func (c *composite) setMissing(h *Hold, i int, gone *Hold, err error) {
	c.mu.Lock()
	if c.over || c.parts[i] != gone {
		c.mu.Unlock()
		return
	}
	c.parts[i] = nil
	s := &c.repairs.servers[i]
	notify := c.noteMissing(h, i, err)
	if !errors.Is(err, ErrClosed) && !errors.Is(err, ErrMaxHold) { // after which no part can be had there
		lease := c.repairs.renewed(i)
		pause := time.Until(s.asked.Add(lease / renewals))
		if gone != nil { // by then all others were asked, too: a majority that lost its parts at once is not regained one by one
			pause = lease/renewals + silence(lease)
		}
		s.timer = time.AfterFunc(pause, func() { c.repair(h, i) })
	}
	c.mu.Unlock()
	notify()
}

// noteMissing notes whether a server has its part; err says why not. The function that it returns notifies the Observer if that is
// new. c.mu is held.
func (c *composite) noteMissing(h *Hold, i int, err error) func() {
	s := &c.repairs.servers[i]
	if s.noted == (err != nil) {
		return func() {}
	}
	s.noted = err != nil
	change := &partChange{h.e, Part{h.name, h.kind.text(), i, len(c.present()), len(c.parts), err}}
	return change.notifySoon
}

// renewals is how often a server is asked for a missing part in the time of a lease: as often as it is asked to renew one.
const renewals = 3

// repair asks a server for the part that is missing there. A hold without its majority asks nobody.
func (c *composite) repair(h *Hold, i int) {
	if h.Err() != nil {
		return
	}
	c.mu.Lock()
	r := c.repairs
	r.servers[i].asked = time.Now()
	lease, a := r.renewed(i), answer{place: i, end: r.end}
	c.mu.Unlock()
	opts := append(slices.Clip(r.opts), asLatePart(h.e.clock.Now()-c.since))
	if r.fixed {
		lease = time.Until(a.end)
		opts = append(opts, WithLease(lease))
	}
	ctx, stop := context.WithTimeout(context.Background(), silence(lease))
	defer stop()
	a.hold, a.err = r.of.members[i].TryLock(ctx, opts...)
	c.answered(h, a)
}

// answered takes up the answer of a server that was not needed for the majority. A part that was granted joins the hold, unless that
// has ended, or has fallen below its majority without this part: what was lost is not regained.
func (c *composite) answered(h *Hold, a answer) {
	if a.err != nil {
		c.setMissing(h, a.place, nil, a.err)
		return
	}
	stall.At("composite: part granted, not joined", h.e.uuid)
	if h.Err() != nil || !c.join(h, a.place, a.hold) {
		a.hold.UnlockAsync()
		return
	}
	c.mu.Lock()
	end := c.repairs.end
	c.mu.Unlock()
	if end.After(a.end) { // the hold was extended meanwhile
		a.hold.Extend(context.Background(), time.Until(end))
	}
}

// noteLease notes the lease of an extended hold, for parts that are granted from now on.
func (c *composite) noteLease(lease time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if end := time.Now().Add(lease); c.repairs.fixed && end.After(c.repairs.end) {
		c.repairs.lease, c.repairs.end = lease, end
	}
}

// stop has no server asked any more. The mutex of the composite is held.
func (r *repairs) stop() {
	for _, s := range r.servers {
		if s.timer != nil {
			s.timer.Stop()
		}
	}
}
