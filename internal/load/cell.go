package load

import (
	"sync/atomic"
	"time"
)

// cell is where the holders of one name would meet, if the lock let them. It may lie in memory that several
// processes share, so it holds no pointers; its zero value is a name that nobody holds.
type cell struct {
	inside   atomic.Int64 // the weights of sections that have entered and not left; an exclusive one weighs 1
	tainted  atomic.Bool  // the counter in Redis is not to be trusted any more
	last     atomic.Int32 // 1 + the caller that released last
	mark     atomic.Int64 // of the last holder, 0 when it has left
	released atomic.Int64 // Instant at which the last holder called Unlock; 0: never

	token  atomic.Int64 // the largest that a holder had
	latest atomic.Int64 // of all that have got it, the Instant at which the last to ask did
	shut   atomic.Int64 // number of the last shutting of a latch; of callers that alternate, how many ask
	opened atomic.Int64 // and of the last one that was opened; of callers that alternate, how many grants there were

	// These are 64 bytes: neighbours do not share a cache line, or they would slow each other down.
}

// mark stands for one hold in a cell, and says until when it excludes others: a watched one until it
// leaves; one with a fixed lease until its Deadline, which makes the mark. No two holds have the same.
type mark int64

const unbounded mark = 1 << 62 // far above every Instant, until the year 2116

func watchedMark(caller int, turn uint32) mark { return unbounded | mark(caller)<<32 | mark(turn) }

func leasedMark(deadline time.Time) mark { return mark(at(deadline)) }

func (m mark) excludes(now Instant) bool { return m&unbounded != 0 || Instant(m) > now }

// entry is what a holder finds when it enters.
type entry struct {
	countable  bool          // all inside are there by right: no lease of theirs is over
	violated   bool          // a holder is inside that excludes us, or there are too many
	early      bool          // a latch was passed that nobody had opened
	tokenBack  bool          // the fencing token is not larger than one before
	disordered bool          // a caller that asked long after us was served before
	overtaken  time.Duration // how much later that one had asked; 0: nobody was served too early
	handover   time.Duration // since the holder before called Unlock; 0: nobody did while we waited
	before     int           // 1 + the caller that released last; 0: nobody has
}

func (e *entry) add(o *entry) {
	e.countable = e.countable && o.countable
	e.violated = e.violated || o.violated
}

// enter is called with a hold in hands, at now. The last to enter is the only one that may be inside by right,
// so comparing with that mark finds the first overlap of any two holds.
//
// It errs on the side of the lock: a lease that ends between the grant and now counts as having ended before.
func (c *cell) enter(m mark, now, asked Instant) entry {
	e := entry{countable: c.inside.Add(1) == 1}
	before := mark(c.mark.Swap(int64(m)))
	e.violated = before != 0 && before.excludes(now)
	c.passed(&e, now, asked)
	return e
}

// passed notes the previous holder of the lock.
func (c *cell) passed(e *entry, now, asked Instant) {
	e.before = int(c.last.Load())
	if released := Instant(c.released.Load()); released != 0 && asked <= released {
		e.handover = max(now.Sub(released), 1)
	}
}

// leave is called before Unlock. over: the hold has ended by itself; somebody else may have entered.
func (c *cell) leave(m mark, now Instant, caller int, over bool) {
	if !over {
		c.pass(now, caller)
	}
	c.mark.CompareAndSwap(int64(m), 0)
	c.inside.Add(-1)
}

// pass is called when somebody is about to unlock.
func (c *cell) pass(now Instant, caller int) {
	c.last.Store(int32(caller + 1))
	c.released.Store(int64(now))
}

// join is enter where several may be inside: their weights are at most room.
func (c *cell) join(weight, room int64, now, asked Instant) entry {
	e := entry{countable: true, violated: c.inside.Add(weight) > room}
	c.passed(&e, now, asked)
	return e
}

// part is leave after join.
func (c *cell) part(weight int64, now Instant, caller int) {
	c.pass(now, caller)
	c.inside.Add(-weight)
}

// grows reports whether a token is larger than all before.
func (c *cell) grows(token int64) bool {
	for {
		before := c.token.Load()
		if token <= before {
			return false
		}
		if c.token.CompareAndSwap(before, token) {
			return true
		}
	}
}

// overtaken is how much later than asked a caller had asked that was served before.
func (c *cell) overtaken(asked Instant) time.Duration {
	for {
		latest := c.latest.Load()
		if int64(asked) <= latest {
			return Instant(latest).Sub(asked)
		}
		if c.latest.CompareAndSwap(latest, int64(asked)) {
			return 0
		}
	}
}
