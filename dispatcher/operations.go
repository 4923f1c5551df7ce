package dispatcher

import (
	"github.com/wheellock/wheellock/internal/gate"
	"github.com/wheellock/wheellock/scripts"
)

// operation is how commands of one operation are written: its script, what the script wants once, and what
// it wants for each name besides the key.
type operation struct {
	script *scripts.Script
	head   func(*wire, gate.Time, *node) // nil: nothing
	args   func(*wire, *gate.Command)
}

// operations is the arguments of every script, as its head in scripts/ says.
var operations = [gate.Ops]operation{
	gate.Renew: {&scripts.Renew, nil, func(w *wire, c *gate.Command) {
		w.owner(c.ID)
		w.leaseBehind(c)
	}},
	gate.Confirm: {&scripts.Confirm, publish, func(w *wire, c *gate.Command) {
		w.owner(c.ID)
		w.lease(c)
		w.lockChannel(c)
	}},
	gate.Swap: {&scripts.Swap, publish, func(w *wire, c *gate.Command) {
		w.owner(c.ID)
		w.owner(c.Next)
		w.lease(c)
		w.lockChannel(c)
	}},
	gate.RenewRead: {&scripts.RenewRead, publish, func(w *wire, c *gate.Command) {
		w.holdKey(c)
		w.owner(c.ID)
		w.lease(c)
		w.string("")
	}},
	gate.RenewWrite: {&scripts.Renew, nil, func(w *wire, c *gate.Command) {
		w.writer(c.ID)
		w.leaseBehind(c)
	}},
	gate.ConfirmRead: {&scripts.RenewRead, publish, func(w *wire, c *gate.Command) {
		w.holdKey(c)
		w.owner(c.ID)
		w.lease(c)
		w.rwChannel(c)
	}},
	gate.ConfirmWrite: {&scripts.Confirm, publish, func(w *wire, c *gate.Command) {
		w.writer(c.ID)
		w.lease(c)
		w.rwChannel(c)
	}},
	gate.Downgrade: {&scripts.Downgrade, publish, func(w *wire, c *gate.Command) {
		w.holdKey(c)
		w.writer(c.ID)
		w.owner(c.ID)
		w.lease(c)
		w.rwChannel(c)
	}},
	gate.Release:        {&scripts.Release, publish, release},
	gate.ReleaseQuietly: {&scripts.Release, publishNothing, release},
	gate.FairRelease: {&scripts.FairRelease, fairWake, func(w *wire, c *gate.Command) {
		w.fairKeys(c)
		releasing(w, c)
		w.number(int64(c.Next))
		w.lease(c)
		w.lockChannel(c)
	}},
	gate.FairLeave: {&scripts.FairLeave, fairWake, func(w *wire, c *gate.Command) {
		w.fairKeys(c)
		w.number(c.N)
		w.number(int64(c.ID))
		w.lockChannel(c)
	}},
	gate.FairAsk: {&scripts.FairAsk, fairLife, func(w *wire, c *gate.Command) {
		w.fairKeys(c)
		w.number(int64(c.ID))
		w.string(fairPlaces[c.M])
		w.lease(c)
		w.number(c.N)
		w.number(int64(c.Next))
		w.lockChannel(c)
	}},
	gate.ReleaseRead: {&scripts.ReleaseRead, publishAsking, func(w *wire, c *gate.Command) {
		w.holdKey(c)
		releasing(w, c)
		w.rwChannel(c)
	}},
	gate.ReleaseWrite: {&scripts.ReleaseWrite, publish, func(w *wire, c *gate.Command) {
		if c.Owner != "" {
			w.string(c.Owner)
		} else {
			w.writer(c.ID)
		}
		w.rwChannel(c)
	}},
	gate.AcquireRead: {&scripts.AcquireRead, notAfterAndPublish, func(w *wire, c *gate.Command) {
		w.holdKey(c)
		w.owner(c.ID)
		w.lease(c)
		w.rwChannel(c)
		w.number(c.N)
	}},
	gate.AcquireWrite: {&scripts.AcquireWrite, notAfter, func(w *wire, c *gate.Command) {
		w.writer(c.ID)
		w.lease(c)
	}},
	gate.AcquireFenced: {&scripts.AcquireFenced, fenced, func(w *wire, c *gate.Command) {
		w.key(scripts.TokenKey(c.Entry.Name))
		w.owner(c.ID)
		w.lease(c)
	}},
	gate.Acquire: {&scripts.Acquire, notAfter, func(w *wire, c *gate.Command) {
		w.owner(c.ID)
		w.leaseBehind(c)
	}},
	gate.Take: {&scripts.Take, notAfter, func(w *wire, c *gate.Command) {
		w.receipt(c)
		w.number(int64(c.ID))
		w.number(int64(c.Next))
		w.string(c.Owner)
	}},
	gate.PermitTake: {&scripts.PermitTake, permitHead, func(w *wire, c *gate.Command) {
		w.held(c)
		w.number(int64(c.ID))
		w.number(int64(c.Next))
		w.number(c.N)
		w.lease(c)
		w.string(scripts.SemaphoreChannel(c.Entry.Name))
	}},
	gate.PermitFree: {&scripts.PermitFree, permitHead, func(w *wire, c *gate.Command) {
		w.held(c)
		w.number(int64(c.ID))
		w.number(int64(c.Next))
		w.number(c.N)
		w.string(c.Owner)
		w.string(scripts.SemaphoreChannel(c.Entry.Name))
	}},
	gate.PermitRenew: {&scripts.PermitRenew, permitBytes, func(w *wire, c *gate.Command) {
		w.keys[len(w.keys)-1] = scripts.PermitsKey(c.Entry.Name)
		w.string(c.Owner)
	}},
	gate.GetCount:     {&scripts.GetCount, nil, func(*wire, *gate.Command) {}},
	gate.Give:         permits(&scripts.Give),
	gate.AddPermits:   permits(&scripts.AddPermits),
	gate.PermitAdd:    permits(&scripts.PermitAdd),
	gate.SetPermits:   permits(&scripts.SetPermits),
	gate.DrainPermits: permits(&scripts.DrainPermits),
	gate.CountDown:    counts(&scripts.CountDown),
	gate.SetCount:     counts(&scripts.SetCount),
	gate.DeleteCount:  counts(&scripts.DeleteCount),
}

// permits is a change of a semaphore.
func permits(s *scripts.Script) operation {
	return operation{s, publishUntil, func(w *wire, c *gate.Command) { w.change(c, scripts.SemaphoreChannel) }}
}

// counts is a change of a latch.
func counts(s *scripts.Script) operation {
	return operation{s, publishUntil, func(w *wire, c *gate.Command) { w.change(c, scripts.LatchChannel) }}
}

func release(w *wire, c *gate.Command) {
	releasing(w, c)
	w.lockChannel(c)
}

// releasing says who is to lose the name.
func releasing(w *wire, c *gate.Command) {
	if c.Owner != "" {
		w.string(c.Owner)
	} else {
		w.owner(c.ID)
	}
}

// fairPlaces is how fair_ask.lua calls where somebody stands, in the order of the gate's constants.
var fairPlaces = [...]string{"TRY", "NEW", "OLD"}

// fairLife says besides for how long who waits for a fair lock lives, and how to wake others.
func fairLife(w *wire, sent gate.Time, n *node) {
	notAfter(w, sent, n)
	w.string(n.d.cfg.UUID)
	w.number(n.d.cfg.Gate.FairWaiterLease.Milliseconds())
	publish(w, sent, n)
}

// fairWake says besides whose waiters are ours.
func fairWake(w *wire, sent gate.Time, n *node) {
	publish(w, sent, n)
	w.string(n.d.cfg.UUID)
}

// publishNothing has a script wake nobody.
func publishNothing(w *wire, _ gate.Time, _ *node) { w.string("NONE") }

// publish says by which command a script wakes others.
func publish(w *wire, _ gate.Time, n *node) { w.string(n.d.cfg.Publish) }

// publishAsking says besides whether keys that are not declared must not be looked at: the hash slot is on its way to the
// node, which has not got all of its keys then, or the engine keeps to declared keys.
func publishAsking(w *wire, sent gate.Time, n *node) {
	publish(w, sent, n)
	if w.asks || n.d.cfg.Declared {
		w.number(1)
	} else {
		w.number(0)
	}
}

// notAfter is until when a script may take something.
func notAfter(w *wire, sent gate.Time, n *node) { w.number(n.server.notAfter(sent)) }

// notAfterAndPublish says both.
func notAfterAndPublish(w *wire, sent gate.Time, n *node) {
	notAfter(w, sent, n)
	publish(w, sent, n)
}

// fenced says besides how many tokens a tenure gets, and how long an idle counter stays.
func fenced(w *wire, sent gate.Time, n *node) {
	notAfter(w, sent, n)
	w.number(gate.TokenBlock)
	w.number(n.d.cfg.FenceTTL.Milliseconds())
}

// publishUntil is both.
func publishUntil(w *wire, sent gate.Time, n *node) {
	publish(w, sent, n)
	notAfter(w, sent, n)
}

// permitBytes is this engine's half of a permit id.
func permitBytes(w *wire, _ gate.Time, _ *node) { w.string(scripts.PermitBytes(w.uuid)) }

// permitHead is all three.
func permitHead(w *wire, sent gate.Time, n *node) {
	publishUntil(w, sent, n)
	permitBytes(w, sent, n)
}
