package bubble

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/wheellock/wheellock/engine"
)

// usePermits takes permits that have a lease, by their semaphore or by a limit of as many as were set.
func (c *caller) usePermits(s *subject) {
	_, alive := c.p.all()
	sem := c.p.engine(0).PermitSemaphore(s.name)
	n := 1 + c.r.IntN(2)
	try := func(opts ...engine.LockOption) (*engine.Hold, error) { return sem.TryAcquire(alive, n, opts...) }
	take := func(opts ...engine.LockOption) (*engine.Hold, error) { return sem.Acquire(alive, n, opts...) }
	told := true
	if c.r.IntN(2) == 0 {
		told = c.r.IntN(2) == 0 // else they may pass to the next caller
		limit := c.p.engine(0).Limit(s.name, permitsSet).Of(n)
		try = func(opts ...engine.LockOption) (*engine.Hold, error) { return limit.TryLock(alive, opts...) }
		take = func(opts ...engine.LockOption) (*engine.Hold, error) { return limit.Lock(alive, opts...) }
	}
	var opts []engine.LockOption
	fixed := c.r.IntN(3) == 0
	if fixed {
		opts = append(opts, engine.WithLease(spread(c.r, 10*time.Millisecond, 2*c.w.plan.lease)))
	}
	one := &held{p: c.p, s: s, permits: n}
	defer c.w.judge.ask(one)()
	var err error
	if c.r.IntN(2) == 0 {
		err = c.call(c.answerTime(), "TryAcquire "+s.name, func() error { one.h, err = try(opts...); return err })
	} else {
		wait := spread(c.r, time.Millisecond, 3*c.w.plan.lease)
		opts = append(opts, engine.WithWait(wait))
		err = c.call(wait, fmt.Sprintf("Acquire %d of %s, wait %v", n, s.name, wait), func() error { one.h, err = take(opts...); return err })
	}
	if err != nil {
		return
	}
	if alive.Err() != nil {
		one.h.UnlockAsync()
		return
	}
	if told {
		s.tally.given(one.h.PermitIDs())
	}
	c.w.judge.add(one)
	c.have(alive, one, fixed, 0)
	if told && c.r.IntN(8) == 0 {
		c.freePermits(alive, s, sem)
	}
	c.giveBack(one)
}

// freePermits frees permits by ids that some holder told, perhaps one twice, perhaps some that are free already.
func (c *caller) freePermits(alive context.Context, s *subject, sem *engine.PermitSemaphore) {
	known := s.tally.known()
	var ids []string
	for range 1 + c.r.IntN(3) {
		ids = append(ids, known[c.r.IntN(len(known))])
	}
	c.w.judge.free(s, ids)
	err := c.call(c.answerTime(), fmt.Sprintf("Release %v of %s", ids, s.name), func() error { return sem.Release(alive, ids...) })
	if err != nil && errors.Is(err, engine.ErrInvalid) {
		c.w.violation("errors", "%v: %v", c, err)
	}
}

func (l *tally) given(ids []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ids = append(l.ids, ids...)
	l.ids = l.ids[max(0, len(l.ids)-8):] // so many are remembered
}

func (l *tally) known() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.ids...)
}

// free notes that somebody frees the permits of others: their holders hear of it later.
func (j *judge) free(s *subject, ids []string) {
	j.mu.Lock()
	var owners []string
	for _, one := range j.holds {
		if one.s == s {
			owners = append(owners, one.ids...)
		}
	}
	j.mu.Unlock()
	j.destroy(owners)
}
