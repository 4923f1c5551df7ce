package dispatcher

import (
	"time"

	"github.com/wheellock/wheellock/internal/gate"
)

// Ask brings a request. False: the dispatcher takes no more. Any goroutine.
func (d *Dispatcher) Ask(name string, kind gate.Kind, w *gate.Waiter) bool {
	return d.mail.putAsk(ask{w, name, kind})
}

// Abandon says that the caller of w waits no longer. The loop settles w at once, with GaveUp, unless something else has
// settled it first: the caller may rely on an answer. w must not be used for another call before the loop has read this;
// GaveUp says that it has. Any goroutine.
func (d *Dispatcher) Abandon(w *gate.Waiter) { d.mail.put(abandon{w}) }

// Unlock ends a hold; ack hears how the release went. False: the dispatcher has ended. Any goroutine.
func (d *Dispatcher) Unlock(h *gate.Hold, ack gate.Settler) bool {
	return d.mail.putUnlock(unlock{h, ack})
}

// Extend prolongs a hold with a fixed lease. False: the dispatcher has ended. Any goroutine.
func (d *Dispatcher) Extend(h *gate.Hold, lease time.Duration, ack gate.Settler) bool {
	return d.mail.put(&extend{h, lease, ack})
}

// Detach ends a hold and leaves its name taken for lease; ack hears how that went. False: the dispatcher has ended. Any
// goroutine.
func (d *Dispatcher) Detach(h *gate.Hold, lease time.Duration, ack gate.Settler) bool {
	return d.mail.put(&detach{h, lease, ack})
}

// Wanted has h.By, a gate.Wanter, told when somebody else waits for the name. Any goroutine.
func (d *Dispatcher) Wanted(h *gate.Hold) { d.mail.put(wanted{h}) }

// Force frees the owner that stands in Redis for a name; id is its number when it is one of ours, else 0.
// False: the dispatcher has ended. Any goroutine.
func (d *Dispatcher) Force(name string, kind gate.Kind, owner string, id uint64, ack gate.Settler) bool {
	return d.mail.put(&force{name, kind, owner, id, ack})
}

// Change makes a change on a name without owners; ack hears how it went. False: the dispatcher has ended.
// Any goroutine.
func (d *Dispatcher) Change(name string, kind gate.Kind, c gate.Change, ack gate.Settler) bool {
	c.Ack = ack
	return d.mail.put(&change{name, kind, c})
}

// Suspect says that the key of a name may have changed behind our back. Any goroutine; it does not block.
func (d *Dispatcher) Suspect(name string) { d.mail.put(suspect{name}) }

// SuspectNode says so of every name that a node serves: that of a cluster at this address, or, at none, the single
// server. Any goroutine; it does not block.
func (d *Dispatcher) SuspectNode(addr string) { d.mail.put(suspectNode{addr}) }

// Up reports whether the link works, in a cluster those to all nodes that serve anything, as far as is known. Any
// goroutine.
func (d *Dispatcher) Up() bool { return d.up.Load() }

// Broken says that a connection to this address turned out to be broken. Any goroutine; it does not block.
func (d *Dispatcher) Broken(addr string) { d.mail.put(broken{addr}) }

// Stats are the counters of this dispatcher's gates. Any goroutine.
func (d *Dispatcher) Stats() *gate.Stats { return d.stats }

// Drain settles all waiters with Closed, takes no new requests, and closes the channel it returns when no
// hold is left. Any goroutine.
func (d *Dispatcher) Drain() <-chan struct{} {
	drained := make(chan struct{})
	d.mail.refuse()
	if !d.mail.put(drain{drained}) {
		close(drained)
	}
	return drained
}

// Close ends every wait and hold, frees the keys as far as Redis can be reached, and returns when the loop
// and the nodes have ended. Any goroutine; may be repeated.
func (d *Dispatcher) Close() {
	d.mail.refuse()
	d.mail.put(closing{})
	<-d.done
}

// Oldest returns when the oldest living hold of a name was granted, or gate.Never. With an empty name it walks all names
// on the loop.
func (d *Dispatcher) Oldest(name string) gate.Time {
	answer := make(chan gate.Time, 1)
	if !d.mail.put(oldestQuery{name, answer}) {
		return gate.Never
	}
	return <-answer
}
