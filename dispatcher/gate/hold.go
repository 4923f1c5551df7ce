package gate

import (
	"sync/atomic"
	"time"
)

// Ender is told once when a hold ends by anything but its own Unlock: its contexts must have ended when
// it returns, for the key is freed only then (rule 3).
type Ender interface{ End(Why) }

// Hold is one grant to a caller, under a tenure. Several holds share a tenure by re-entry.
type Hold struct {
	// Set before it is granted; anybody may read them afterwards.
	By        Ender
	Entry     *Entry
	Tenure    uint64     // the number of the tenure, in the owner field in Redis
	Token     int64      // fencing token; 0: none
	holdCount *holdCount // the holds of the same Owner; nil: it has none
	watch     bool       // the watchdog renews it
	write     bool       // it excludes others, as every hold of a mutex does

	// Owned by the loop.
	alive bool
	why   Why // what ended it, when not its own Unlock

	since uint32 // when it was granted, in tenths of a second since the engine began: 13 years; set before, as those above

	// Owned by the loop.
	until Time // its own end, when it has one besides the tenure's; Never: the tenure's
	next  *Hold
	prev  *Hold

	deadline atomic.Int64 // a Time; grows by renewals
}

// holdCount counts the living holds of one Owner under one tenure; of a read-write lock those that read, or those that
// write. A nil *holdCount is that of a hold without an Owner.
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

// Since is when the hold was granted, to 0.1 s.
func (h *Hold) Since() Time { return Time(h.since) * sinceUnit }

// Deadline is when the hold ends unless it is renewed. Any goroutine may ask.
func (h *Hold) Deadline() Time { return Time(h.deadline.Load()) }

// Count is how many holds of its Owner are alive, if it has one; else 0. Any goroutine may ask.
func (h *Hold) Count() int { return int(h.holdCount.count()) }

// owner is the Owner of a hold that was granted; 0: it has none.
func (h *Hold) owner() uint64 {
	if h.holdCount == nil {
		return 0
	}
	return h.holdCount.owner
}

// end is the end of h, also if its caller had gone when it was granted.
func (h *Hold) end() {
	h.alive = false
	h.holdCount.add(-1)
}

// sinceUnit is the unit of Hold.since.
const sinceUnit = 100 * time.Millisecond

// extend moves the hold's own end to until; never nearer.
func (h *Hold) extend(until Time, t *Tenure) {
	h.until = max(h.until, until)
	h.follow(t)
}

// follow sets the hold's deadline after the tenure's has changed (rule 2: at most the tenure's).
func (h *Hold) follow(t *Tenure) { h.deadline.Store(int64(min(h.until, t.Deadline))) }
