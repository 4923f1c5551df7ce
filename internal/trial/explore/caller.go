package explore

import (
	"fmt"
	"time"

	"github.com/wheellock/wheellock/dispatcher/gate"
)

// caller is one call: both ends of it, the user's and the engine's.
type caller struct {
	s      *state
	e      *engine
	number ordinal // of all callers, from 0
	name   int
	call   Call
	waiter *gate.Waiter // nil: the call waits for no grant
	hold   gate.Hold
	kept   request // what it asked for

	dropped  bool // it waits no longer; the loop has been told, or will be
	settled  bool // the loop has answered
	out      gate.Outcome
	unlocked bool      // it has called Unlock
	over     bool      // it knows that its hold has ended
	invalid  bool      // its hold was seen to have ended: it must stay so
	stays    gate.Time // until when, by its engine's clock, the name must be taken whatever becomes of it; 0: while it holds
	lossy    bool      // its key was destroyed behind everybody's back: no promise is left
	release  *ack      // of its Unlock
	frees    []*caller // Release: whose permits
	adopts   string    // Adopt: the owner whose place it is to take, if a hold of its engine lives under that; else empty
}

// ordinal is a number that only counts.
type ordinal int

// Settle implements gate.Settler. A waiter that was answered is its caller's again, who uses it for something else.
func (c *caller) Settle(out gate.Outcome) bool {
	if c.settled {
		c.s.violate("answered-once", "%v was answered twice", c)
	}
	c.settled, c.out = true, out
	if c.s.log != nil {
		c.s.note("      %v is told: %s", c, whyNames[out.Why])
	}
	*c.waiter = gate.Waiter{Owner: 99, LeaseTime: time.Nanosecond}
	if c.dropped && out.Why != gate.GaveUp {
		return false
	}
	switch out.Why {
	case gate.Lost:
		c.s.checkAdoption(c)
	case gate.Granted:
		c.stay()
		c.s.granted(c)
	case gate.Doubtful:
		c.s.counted.missing += c.kept.n
	}
	return true
}

// stay notes until when the name must stay taken: for the least time from when Redis took it. Its key says when that was, if it was
// given the time that it should; it was after the command had left in any case. A lock that a release gave to a place was taken
// before: the least time counts from when that is heard.
func (c *caller) stay() {
	if c.kept.least == 0 || !c.s.has(nameOf(c.name), c.field()) {
		return
	}
	c.stays = c.e.granting + c.kept.least
	if ttl := c.s.do("PTTL", nameOf(c.name)).Int; ttl > 0 {
		left := time.Duration(ttl)*time.Millisecond - max(c.kept.lease-c.kept.least, 0)
		c.stays = max(c.stays, c.e.now()+min(left, c.kept.least)) // it was given more if it was asked for another waiter
	}
}

// End implements gate.Ender.
func (c *caller) End(why gate.Why) {
	if c.s.log != nil {
		c.s.note("      %v is told that its hold has ended: %s", c, whyNames[why])
	}
	if !c.settled || c.out.Why != gate.Granted {
		c.s.violate("holds-end-once", "%v was told of the end of a hold that it never had", c)
	}
	c.over = true
}

// finished reports whether nothing more will become of it.
func (c *caller) finished() bool {
	if c.e.crashed {
		return true
	}
	if c.release != nil && !c.release.settled {
		return false
	}
	return c.waiter == nil || c.settled && !c.hasHold()
}

func (c *caller) String() string { return fmt.Sprintf("%v%d", c.e, c.number) }

// holds reports whether the hold is valid as its holder sees it: engine.Hold.Err is nil.
func (c *caller) holds() bool {
	return c.settled && c.out.Why == gate.Granted && !c.dropped && !c.unlocked && !c.over && c.waitsForLock() && c.e.now() < c.hold.Deadline()
}

// waitsForLock reports whether a grant is a hold; a semaphore and a latch have none.
func (c *caller) waitsForLock() bool { return c.kept.lease != 0 && c.s.w.Kind != gate.SemaphoreKind }

// hasHold reports whether the user has a hold that was neither unlocked nor ended by the engine.
func (c *caller) hasHold() bool {
	return c.settled && c.out.Why == gate.Granted && !c.dropped && !c.unlocked && !c.over && c.waitsForLock()
}

// waits reports whether it waits for an answer.
func (c *caller) waits() bool { return c.waiter != nil && !c.settled && !c.dropped }

// waitsForRedis reports whether it waits, and not for the end of a hold of its own engine, which may have been forced off.
func (c *caller) waitsForRedis() bool {
	return c.waits() && !c.e.dead && c.waiter.Entry.Machine.Oldest() == gate.Never
}

// field is the owner field of its tenure in Redis.
func (c *caller) field() string {
	f := c.e.ownerField(c.hold.Tenure)
	if c.hold.Write() {
		f += gate.WriterSuffix
	}
	return f
}

// ack waits for the answer to an Unlock, Extend, ForceUnlock or change.
type ack struct {
	s       *state
	what    string
	by      *caller
	settled bool
	out     gate.Outcome
}

// Settle implements gate.Settler.
func (a *ack) Settle(out gate.Outcome) bool {
	if a.settled {
		a.s.violate("answered-once", "%s of %v was answered twice", a.what, a.by)
	}
	a.settled, a.out = true, out
	if a.s.log != nil {
		a.s.note("      %s of %v is answered: %s", a.what, a.by, whyNames[out.Why])
	}
	a.s.acknowledged(a)
	return true
}

var whyNames = [...]string{
	"granted", "taken", "timed out", "down", "doubtful", "refused", "foreign", "lost", "too long", "unlocked", "closed", "overloaded",
	"other kind", "twin lives", "deadlock", "too few", "too late", "gave up",
}
