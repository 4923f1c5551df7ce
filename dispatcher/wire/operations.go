package wire

import (
	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/scripts"
)

// operation is how the commands of one operation are written: the script, the arguments that come once in a call, and
// those that come for each name besides its key.
type operation struct {
	script *scripts.Script
	head   func(*Writer) // nil: nothing
	args   func(*Writer, *gate.Command)
}

// operations has the arguments of every script, as the head of its file in scripts/ says.
var operations = [gate.Ops]operation{
	gate.Renew: {&scripts.Renew, nil, func(w *Writer, c *gate.Command) {
		w.owner(c.ID)
		w.leaseBehind(c)
	}},
	gate.Confirm: {&scripts.Confirm, publish, func(w *Writer, c *gate.Command) {
		w.owner(c.ID)
		w.lease(c)
		w.lockChannel(c)
	}},
	gate.Detach: {&scripts.Detach, publish, func(w *Writer, c *gate.Command) {
		w.fairQueueOrLock(c)
		w.owner(c.ID)
		w.detached(c.ID)
		w.lease(c)
		if c.Entry.Kind == gate.SpinKind {
			w.string("") // nobody listens
		} else {
			w.lockChannel(c)
		}
	}},
	gate.Adopt: {&scripts.Adopt, fenced, func(w *Writer, c *gate.Command) {
		w.counterOrLock(c)
		w.string(c.Args.Adopt().Owner)
		w.owner(c.ID)
		w.lease(c)
	}},
	gate.RenewRead: {&scripts.RenewRead, publish, func(w *Writer, c *gate.Command) {
		w.holdKey(c, "")
		w.owner(c.ID)
		w.lease(c)
		w.string("")
	}},
	gate.RenewWrite: {&scripts.Renew, nil, func(w *Writer, c *gate.Command) {
		w.writer(c.ID)
		w.leaseBehind(c)
	}},
	gate.ConfirmRead: {&scripts.RenewRead, publish, func(w *Writer, c *gate.Command) {
		w.holdKey(c, "")
		w.owner(c.ID)
		w.lease(c)
		w.rwChannel(c)
	}},
	gate.ConfirmWrite: {&scripts.Confirm, publish, func(w *Writer, c *gate.Command) {
		w.writer(c.ID)
		w.lease(c)
		w.rwChannel(c)
	}},
	gate.Downgrade: {&scripts.Downgrade, publish, func(w *Writer, c *gate.Command) {
		w.holdKey(c, "")
		w.writer(c.ID)
		w.owner(c.ID)
		w.lease(c)
		w.rwChannel(c)
	}},
	gate.Release: {&scripts.Release, publish, release},
	gate.ReleaseClaim: {&scripts.ReleaseClaim, publish, func(w *Writer, c *gate.Command) {
		w.key(scripts.ClaimsKey(c.Entry.Name))
		release(w, c)
		w.number(c.Args.Release().Own)
	}},
	gate.ReleaseQuietly: {&scripts.Release, publishNothing, release},
	gate.FairRelease: {&scripts.FairRelease, fairWake, func(w *Writer, c *gate.Command) {
		w.fairKeys(c)
		releasing(w, c)
		w.number(int64(c.Args.Release().Successor))
		w.lease(c)
		w.lockChannel(c)
	}},
	gate.FairLeave: {&scripts.FairLeave, fairWake, func(w *Writer, c *gate.Command) {
		w.fairKeys(c)
		w.number(c.Args.FairLeave().N)
		w.number(int64(c.ID))
		w.lockChannel(c)
	}},
	gate.FairAsk: {&scripts.FairAsk, fairLife, func(w *Writer, c *gate.Command) {
		a := c.Args.FairAsk()
		w.fairKeys(c)
		w.number(int64(c.ID))
		w.string(string(a.Place))
		w.lease(c)
		w.number(a.Joining)
		w.number(int64(a.First))
		w.lockChannel(c)
		w.number(a.Code)
	}},
	gate.ReleaseRead: {&scripts.ReleaseRead, publishAsking, func(w *Writer, c *gate.Command) {
		w.holdKey(c, c.Args.Release().Owner)
		releasing(w, c)
		w.rwChannel(c)
	}},
	gate.ReleaseWrite: {&scripts.ReleaseWrite, publish, func(w *Writer, c *gate.Command) {
		if owner := c.Args.Release().Owner; owner != "" {
			w.string(owner)
		} else {
			w.writer(c.ID)
		}
		w.rwChannel(c)
	}},
	gate.AcquireRead: {&scripts.AcquireRead, notAfterAndPublish, func(w *Writer, c *gate.Command) {
		w.holdKey(c, "")
		w.owner(c.ID)
		w.lease(c)
		w.rwChannel(c)
		if a := c.Args.AcquireRead(); a.Yields {
			w.number(a.Own)
		} else {
			w.number(-1)
		}
	}},
	gate.AcquireWrite: {&scripts.AcquireWrite, notAfter, func(w *Writer, c *gate.Command) {
		w.writer(c.ID)
		w.lease(c)
	}},
	gate.AcquireFenced: {&scripts.AcquireFenced, fenced, func(w *Writer, c *gate.Command) {
		w.key(scripts.TokenKey(c.Entry.Name))
		w.owner(c.ID)
		w.lease(c)
	}},
	gate.AcquireClaim: {&scripts.AcquireClaim, fenced, func(w *Writer, c *gate.Command) {
		w.key(scripts.ClaimsKey(c.Entry.Name))
		w.counterOrLock(c)
		w.owner(c.ID)
		w.lease(c)
		w.number(c.Args.Claim().Code)
	}},
	gate.Acquire: {&scripts.Acquire, notAfter, func(w *Writer, c *gate.Command) {
		w.owner(c.ID)
		w.leaseBehind(c)
	}},
	gate.Take: {&scripts.Take, leaveBy, func(w *Writer, c *gate.Command) {
		a := c.Args.Take()
		w.receipt(c)
		w.number(int64(c.ID))
		w.flag(a.Resent)
		w.string(string(a.Runs))
	}},
	gate.PermitTake: {&scripts.PermitTake, permitHead, func(w *Writer, c *gate.Command) {
		a := c.Args.PermitTake()
		w.held(c)
		w.number(int64(c.ID))
		w.flag(a.Resent)
		w.number(a.N)
		w.lease(c)
		w.string(scripts.SemaphoreChannel(c.Entry.Name))
	}},
	gate.PermitFree: {&scripts.PermitFree, permitHead, func(w *Writer, c *gate.Command) {
		a := c.Args.PermitFree()
		w.held(c)
		w.number(int64(c.ID))
		w.number(int64(a.First))
		w.number(a.N)
		w.string(string(a.IDs))
		w.string(scripts.SemaphoreChannel(c.Entry.Name))
	}},
	gate.PermitRenew: {&scripts.PermitRenew, permitBytes, func(w *Writer, c *gate.Command) {
		w.keys[len(w.keys)-1] = scripts.PermitsKey(c.Entry.Name)
		w.string(string(c.Args.PermitRenew().Holds))
	}},
	gate.CountWaiters: {&scripts.CountWaiters, publish, func(w *Writer, c *gate.Command) {
		w.fairQueueOrLock(c)
		if c.Entry.Kind == gate.RWKind {
			w.rwChannel(c)
		} else {
			w.lockChannel(c)
		}
	}},
	gate.GetCount:      {&scripts.GetCount, nil, func(*Writer, *gate.Command) {}},
	gate.Give:          changes(&scripts.Give, (*Writer).receipt, scripts.SemaphoreChannel),
	gate.AddPermits:    changes(&scripts.AddPermits, (*Writer).receipt, scripts.SemaphoreChannel),
	gate.SetPermits:    changes(&scripts.SetPermits, (*Writer).receipt, scripts.SemaphoreChannel),
	gate.DrainPermits:  changes(&scripts.DrainPermits, (*Writer).receipt, scripts.SemaphoreChannel),
	gate.DeletePermits: changes(&scripts.DeletePermits, (*Writer).receipt, scripts.SemaphoreChannel),
	gate.PermitAdd:     changes(&scripts.PermitAdd, (*Writer).receipt, scripts.SemaphoreChannel),
	gate.PermitSet:     changes(&scripts.PermitSet, (*Writer).held, scripts.SemaphoreChannel),
	gate.PermitDelete:  changes(&scripts.PermitDelete, (*Writer).held, scripts.SemaphoreChannel),
	gate.CountDown:     changes(&scripts.CountDown, (*Writer).receipt, scripts.LatchChannel),
	gate.SetCount:      changes(&scripts.SetCount, (*Writer).receipt, scripts.LatchChannel),
	gate.DeleteCount:   changes(&scripts.DeleteCount, (*Writer).receipt, scripts.LatchChannel),
}

// changes writes a change of a semaphore or a latch; keys are its other keys.
func changes(s *scripts.Script, keys func(*Writer, *gate.Command), channel func(string) string) operation {
	return operation{s, publishUntil, func(w *Writer, c *gate.Command) {
		keys(w, c)
		w.change(c, channel)
	}}
}

func release(w *Writer, c *gate.Command) {
	releasing(w, c)
	w.lockChannel(c)
}

// releasing writes the owner that is to lose the name.
func releasing(w *Writer, c *gate.Command) {
	if owner := c.Args.Release().Owner; owner != "" {
		w.string(owner)
	} else {
		w.owner(c.ID)
	}
}

// fairLife writes the deadline, the engine of the waiters, how long waiters of a fair lock live, and how to wake others.
func fairLife(w *Writer) {
	notAfter(w)
	w.string(w.settings.UUID)
	w.number(w.settings.FairWaiterLease.Milliseconds())
	publish(w)
}

// fairWake writes how to wake others, and how to tell our waiters from those of others.
func fairWake(w *Writer) {
	publish(w)
	w.string(w.settings.UUID)
}

// publishNothing tells a script to wake nobody.
func publishNothing(w *Writer) { w.string("NONE") }

// publish writes by which command a script wakes others.
func publish(w *Writer) { w.string(w.settings.Publish) }

// publishAsking writes how to wake others, and whether the script must not look at keys that are not declared: the hash
// slot is moving to the node, which does not have all its keys yet, or the engine keeps to declared keys.
func publishAsking(w *Writer) {
	publish(w)
	w.flag(w.asking || w.settings.Declared)
}

// notAfterAndPublish writes the deadline, and how to wake others.
func notAfterAndPublish(w *Writer) {
	notAfter(w)
	publish(w)
}

// fenced writes the deadline, how many tokens a tenure gets, and how long an idle counter stays.
func fenced(w *Writer) {
	notAfter(w)
	w.number(gate.TokenBlock)
	w.number(w.settings.FenceTTL.Milliseconds())
}

// publishUntil writes how to wake others, and the deadline.
func publishUntil(w *Writer) {
	publish(w)
	leaveBy(w)
}

// permitBytes writes this engine's half of a permit id.
func permitBytes(w *Writer) { w.string(scripts.PermitBytes(w.settings.UUID)) }

// permitHead writes how to wake others, the deadline, and this engine's half of a permit id.
func permitHead(w *Writer) {
	publishUntil(w)
	permitBytes(w)
}

// Script returns the script of an operation.
func Script(op gate.Op) *scripts.Script { return operations[op].script }

// Scripts yields every operation with its script, in the order of the operations.
func Scripts(yield func(gate.Op, *scripts.Script) bool) {
	for op := gate.None + 1; op < gate.Ops; op++ {
		if !yield(op, operations[op].script) {
			return
		}
	}
}
