package load

import (
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/wheellock/wheellock/engine"
)

// place is the cells of all names that are locked together with one name, its own first.
type place []*cell

// caller locks and unlocks, one call after the other. Its steps below are the same whether it is a goroutine
// (blocking.go) or a chain of callbacks (async.go); each step belongs to one goroutine at a time.
type caller struct {
	rig    *Rig
	client *client
	fresh  *fresh // nil: it asks for the names of the run
	id     int    // among the callers of all processes
	shard  *shard
	place  int // in the shard
	random *rand.Rand
	turn   uint32 // number of the call, for marks

	// The call under way.
	due, asked Instant
	name       int
	reads      bool // of a read-write lock
	resource   resource
	hold       Grant
	mark       mark
	lost       bool
	passed     bool // another caller had the name before
	check      check

	// Read by the drain.
	waiting atomic.Int64 // Instant since when it waits for the lock; 0: it does not
	at      atomic.Int32 // name it waits for

	forgotten atomic.Bool // see alternate.go
}

// afterFailure is how long a caller rests after an error, which would likely come again at once.
const afterFailure = 10 * time.Millisecond

// untilDue takes the next call and says how long it is until it is due.
func (c *caller) untilDue() time.Duration {
	c.due = c.rig.pace.take()
	if c.due == 0 {
		return 0
	}
	return c.due.Sub(Now())
}

// begin chooses what to ask for, and notes the time.
func (c *caller) begin() {
	r := c.rig
	c.turn++
	c.reads = r.plan.Kind == RW && c.random.Float64() < r.plan.Readers
	if r.contest == nil {
		c.name = r.picker.pick(c.random)
	} else {
		c.name = c.id % r.plan.Names
	}
	c.resource = c.choose()
	c.asked = Now()
	if c.due == 0 {
		c.due = c.asked
	} else {
		r.pace.begun.Add(1)
		c.shard.begun(c.asked.Sub(c.due))
	}
	c.at.Store(int32(c.name))
	c.waiting.Store(int64(c.asked))
}

// granted enters the critical section, if there is a grant. Else rest is how long to wait before the next call.
func (c *caller) granted(g Grant, err error) (entered bool, rest time.Duration) {
	now := Now()
	c.waiting.Store(0)
	if err != nil {
		return false, c.refused(err)
	}
	c.hold, c.lost = g, false
	if c.mark = watchedMark(c.id, c.turn); c.rig.plan.Lease > 0 {
		c.mark = leasedMark(g.(*engine.Hold).Deadline())
	}
	e := c.rig.proof.enter(c, now)
	c.passed = e.before > 0 && e.before != c.id+1
	c.shard.entered(c, now.Sub(c.due), e)
	// With a holder inside after the end of its lease, the counter in Redis would prove nothing.
	every := c.rig.plan.Check
	if c.check.on = every > 0 && e.countable && c.random.IntN(every) == 0; c.check.on {
		c.enterWitness()
	}
	return true, 0
}

// cell is that of the name.
func (c *caller) cell() *cell { return c.rig.places[c.name][0] }

// check is what Redis says of a section.
type check struct {
	on   bool
	fits bool // no more were counted than may be inside
	sure bool // that counts: no answer was lost, and the lease lasted
	took time.Duration
}

// enterWitness has Redis count the section.
func (c *caller) enterWitness() {
	before, cell := Now(), c.cell()
	fits, err := c.rig.witness.enter(c.name, c.weight())
	if err != nil {
		cell.tainted.Store(true) // the counter may be too high from now on
	}
	c.check.fits, c.check.sure = fits, !cell.tainted.Load() && !ended(c.hold)
	c.check.took = Now().Sub(before)
}

// leaveWitness takes the section out of the count.
func (c *caller) leaveWitness() {
	before := Now()
	if err := c.rig.witness.leave(c.name, c.weight()); err != nil {
		c.cell().tainted.Store(true)
	}
	c.check.took += Now().Sub(before)
	c.shard.checked(&c.check)
}

// refused records why there is no hold.
func (c *caller) refused(err error) (rest time.Duration) {
	switch {
	case errors.Is(err, engine.ErrWaitTimeout):
		c.shard.count(timeout)
		return 0
	case c.rig.waits.Err() != nil, errors.Is(err, engine.ErrClosed):
		return 0 // given up by the drain, which counted it
	case c.forgotten.Swap(false):
		return 0 // counted as lost
	}
	c.fail(err)
	return afterFailure
}

func (c *caller) fail(err error) {
	c.shard.count(failed)
	c.rig.failures.note(plain(err))
}

// plain is an error without the name in it, so that the same errors count as one.
func plain(err error) string {
	for _, known := range []error{
		engine.ErrNotSent, engine.ErrUncertain, engine.ErrOverloaded, engine.ErrNotReplicated,
		engine.ErrForeignKey, engine.ErrUnlocked, engine.ErrWaitTimeout,
	} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	return err.Error()
}

// mustLeave reports whether the section has to end: the hold has, or the run.
func (c *caller) mustLeave() bool { return c.rig.isEnding() || ended(c.hold) }

// leave ends the critical section; the unlock comes after it.
func (c *caller) leave() {
	if c.check.on {
		c.leaveWitness()
	}
	c.lost = ended(c.hold)
	c.rig.proof.leave(c, Now())
}

// released records how the unlock went.
func (c *caller) released(err error) {
	c.hold = nil
	switch {
	case c.lost, errors.Is(err, engine.ErrLost):
		c.shard.count(overstayed)
	case err != nil:
		c.fail(err)
	default:
		c.shard.pair(c)
	}
}
