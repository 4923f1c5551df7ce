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
	By     Ender
	Cell   *Cell
	Tenure uint64 // the number of the tenure, in the owner field in Redis
	Token  int64  // fencing token; 0: none

	deadline atomic.Int64                 // a Time; grows by renewals
	count    atomic.Pointer[atomic.Int32] // living holds of the same tenure; nil: this one alone

	// Owned by the loop.
	next  *Hold
	prev  *Hold
	owner uint64
	until Time   // its own end, when it has one besides the tenure's; Never: the tenure's
	since uint32 // when it was granted, in hundredths of a second: 497 days
	watch bool
	alive bool
	why   Why  // what ended it, when not its own Unlock
	write bool // of a read-write lock: it excludes. Set before it is granted; anybody may read it afterwards.
}

// Write reports whether it is a writer's hold of a read-write lock.
func (h *Hold) Write() bool { return h.write }

// Deadline is when the hold ends unless it is renewed. Any goroutine may ask.
func (h *Hold) Deadline() Time { return Time(h.deadline.Load()) }

// Count is how many holds of this tenure are alive, if they were ever more than one; else 0. Any goroutine may ask.
func (h *Hold) Count() int {
	if n := h.count.Load(); n != nil {
		return int(n.Load())
	}
	return 0
}

// begin makes h a hold of t, from now on.
func (h *Hold) begin(now Time, w *Waiter, t *Tenure, cfg *Config) {
	h.Tenure, h.owner, h.watch, h.alive, h.why = t.ID, w.Owner, w.Watch, true, Lost
	h.since, h.write = uint32(now/sinceUnit), w.Write
	h.until = Never
	if !w.Watch {
		h.until = min(now+w.Lease-margin(w.Lease), t.Deadline)
	} else if cfg.MaxHold > 0 {
		h.until = now + cfg.MaxHold
	}
	h.follow(t)
}

// sinceUnit is the unit of Hold.since.
const sinceUnit = 10 * time.Millisecond

// follow sets the hold's deadline after the tenure's has changed (rule 2: at most the tenure's).
func (h *Hold) follow(t *Tenure) { h.deadline.Store(int64(min(h.until, t.Deadline))) }

// margin is what a client's deadline lies before the server's: 1 % of the lease for clocks that run at
// different speeds, and at least 5 ms for the server's own rounding and wake-up.
func margin(lease time.Duration) time.Duration { return max(lease/100, 5*time.Millisecond) }

// Margin is how long before its lease runs out in Redis a hold ends here.
func Margin(lease time.Duration) time.Duration { return margin(lease) }
