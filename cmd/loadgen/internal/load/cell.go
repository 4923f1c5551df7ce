package load

import (
	"sync/atomic"
	"time"
)

// cell is where the holders of one name would meet, if the lock let them. It may lie in memory that several
// processes share, so it holds no pointers; its zero value is a name that nobody holds.
type cell struct {
	inside   atomic.Int32 // sections that have entered and not left: 0, 1, 0, 1 ... as long as leases last
	tainted  atomic.Bool  // the counter in Redis is not to be trusted any more
	last     atomic.Int32 // 1 + the process that released last
	mark     atomic.Int64 // of who entered last, 0 when that one has left
	released atomic.Int64 // Instant at which the last holder called Unlock; 0: never

	_ [64 - 32]byte // neighbours do not share a cache line, or they would slow each other down
}

// mark stands for one hold in a cell, and says until when it excludes others: a watched one until it
// leaves; one with a fixed lease until its Deadline, which makes the mark. No two holds have the same.
type mark int64

const unbounded mark = 1 << 62 // far above every Instant, until the year 2116

func watchedMark(caller int, turn uint32) mark { return unbounded | mark(caller)<<32 | mark(turn) }

func leasedMark(deadline time.Time) mark { return mark(at(deadline)) }

func (m mark) excludes(now Instant) bool { return m&unbounded != 0 || Instant(m) > now }

// entry is what somebody finds who enters.
type entry struct {
	alone    bool          // nobody else is inside, not even one whose lease is over
	violated bool          // somebody is inside whose hold has not ended
	handover time.Duration // since the holder before called Unlock; 0: nobody did while we waited
	across   bool          // that holder was in another process
}

// enter is called with a hold in hands, at now. Who enters last is the only one who may be inside by right,
// so comparing with that mark finds the first overlap of any two holds.
//
// It errs on the side of the lock: a lease that ends between the grant and now counts as having ended before.
func (c *cell) enter(m mark, now, asked Instant, process int) entry {
	e := entry{alone: c.inside.Add(1) == 1}
	before := mark(c.mark.Swap(int64(m)))
	e.violated = before != 0 && before.excludes(now)
	if released := Instant(c.released.Load()); released != 0 && asked <= released {
		e.handover = max(now.Sub(released), 1)
		e.across = int(c.last.Load()) != process+1
	}
	return e
}

// leave is called before Unlock. over: the hold has ended by itself; somebody else may have entered.
func (c *cell) leave(m mark, now Instant, process int, over bool) {
	if !over {
		c.last.Store(int32(process + 1))
		c.released.Store(int64(now))
	}
	c.mark.CompareAndSwap(int64(m), 0)
	c.inside.Add(-1)
}
