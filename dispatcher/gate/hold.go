package gate

import (
	"sync/atomic"
	"time"
)

// Ender is told once when a hold ends for another reason than its own Unlock. The hold's contexts must have ended when End returns, because
// the key is freed only after that (invariant: loss-is-final).
type Ender interface{ End(Why) }

// Renewer is an Ender that is notified when its hold is about to be renewed.
type Renewer interface {
	Ender
	// NotifyRenewal notifies it. It does not block.
	NotifyRenewal()
}

// Teller is an Ender of a hold of permits that knows whether their ids were told: then others may free them.
type Teller interface {
	Ender
	// Told reports it. It does not block.
	Told() bool
}

// told reports whether the ids of the hold's permits were told.
func (h *Hold) told() bool {
	by, tells := h.By.(Teller)
	return tells && by.Told()
}

// renewer is By, if it is one; else nil.
func (h *Hold) renewer() Renewer {
	by, _ := h.By.(Renewer)
	return by
}

func (h *Hold) notifyRenewal() {
	if by := h.renewer(); by != nil && h.watch {
		by.NotifyRenewal()
	}
}

// Hold is one grant to a caller, under one lease. Re-entry makes several holds of one lease.
type Hold struct {
	// Set before the grant. Any goroutine may read them afterwards.
	By        Ender
	Entry     *Entry
	Tenure    uint64     // the number of the lease, in the owner field in Redis
	Token     int64      // fencing token; 0: none
	holdCount *holdCount // shared by the holds of the same Owner; nil: it has no Owner
	watch     bool       // the watchdog renews it
	write     bool       // it excludes all other owners, as every hold of a mutex does

	// Owned by the loop.
	alive bool
	why   Why // why it ended, if not by its own Unlock

	since uint32 // when it was granted, in tenths of a second since the engine was opened: enough for 13 years; set before the grant

	// Owned by the loop.
	until moment // its own end, if it has one besides that of the lease; else Never

	tenure   *atomic.Int64 // the deadline of its tenure, which it shares with others (holds); nil: deadline follows that. Set before the grant
	deadline atomic.Int64  // a Time
}

// holdCount counts the living holds of one Owner under one lease. Of a read-write lock there is one for reads and one for writes. A nil
// *holdCount belongs to a hold without an Owner.
type holdCount struct {
	owner  uint64
	living atomic.Int32
}

func (h *holdCount) add(n int32) {
	if h != nil {
		h.living.Add(n)
	}
}

func (h *holdCount) count() int32 {
	if h == nil {
		return 0
	}
	return h.living.Load()
}

// Watched reports whether the watchdog renews it.
func (h *Hold) Watched() bool { return h.watch }

// Write reports whether it is a writer's hold of a read-write lock.
func (h *Hold) Write() bool { return h.write && h.Entry.Kind == RWKind }

// Since is when the hold was granted, to a tenth of a second.
func (h *Hold) Since() Time { return Time(h.since) * sinceUnit }

func (h *Hold) moment(int8) *moment { return &h.until }

// Deadline is when the hold ends unless it is renewed. Any goroutine may call it.
func (h *Hold) Deadline() Time {
	at := h.deadline.Load()
	if h.tenure != nil {
		at = min(at, h.tenure.Load())
	}
	return Time(at)
}

// Count is how many holds of its Owner are alive; 0: it has no Owner. Any goroutine may call it.
func (h *Hold) Count() int { return int(h.holdCount.count()) }

// Owner is that of a granted hold; 0: it has none. Any goroutine may call it.
func (h *Hold) Owner() uint64 {
	if h.holdCount == nil {
		return 0
	}
	return h.holdCount.owner
}

// end marks h as ended, also if its caller had gone when it was granted. Its deadline stays from now on.
func (h *Hold) end() {
	h.alive = false
	h.deadline.Store(int64(h.Deadline()))
	h.holdCount.add(-1)
}

// sinceUnit is the unit of Hold.since.
const sinceUnit = 100 * time.Millisecond

// follow sets the hold's deadline after that of its lease has changed (invariant: hold-within-tenure).
func (h *Hold) follow(t *Tenure) {
	at := h.until.at
	if h.tenure == nil {
		at = min(at, t.Deadline)
	}
	h.deadline.Store(int64(at))
}
