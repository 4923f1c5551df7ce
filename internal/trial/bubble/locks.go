package bubble

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/wheellock/wheellock/engine"
)

// locker is the lock of a name in the present life of the process.
func (p *process) locker(s *subject, shared bool) (engine.Locker, error) {
	e := p.engine(0)
	switch s.kind {
	case fencedKind:
		return e.FencedMutex(s.name), nil
	case spinKind:
		return e.SpinMutex(s.name), nil
	case simpleKind:
		return e.SimpleMutex(s.name), nil
	case fairKind:
		return e.FairMutex(s.name), nil
	case rwKind:
		if shared {
			return e.RWMutex(s.name).Reader(), nil
		}
		return e.RWMutex(s.name).Writer(), nil
	case multiKind:
		return engine.Multi(e.Mutex(s.parts[0]), e.Mutex(s.parts[1]))
	case quorumKind:
		engines, _ := p.all()
		if p.w.plan.simple {
			return engine.SimpleQuorum(s.name, engines...)
		}
		return engine.Quorum(s.name, engines...)
	}
	return e.Mutex(s.name), nil
}

// useLock takes a lock, has it for a while, and gives it back. owner is one who has it already, if there is one.
func (c *caller) useLock(alive context.Context, s *subject, owner engine.Owner, depth int) {
	shared := s.kind == rwKind && c.r.IntN(3) > 0
	l, err := c.p.locker(s, shared)
	if err != nil {
		c.w.violation("errors", "%v: %s: %v", c, s.name, err)
		return
	}
	if owner == (engine.Owner{}) && s.kind != quorumKind && s.kind != multiKind && c.r.IntN(3) == 0 {
		owner = engine.NewOwner()
	}
	var opts []engine.LockOption
	if owner != (engine.Owner{}) {
		opts = append(opts, engine.WithOwner(owner))
	}
	fixed := c.r.IntN(3) == 0
	if c.w.plan.hot { // a caller that asks for the same lease may get the lock by handoff
		fixed = c.r.IntN(20) == 0
	}
	lease := spread(c.r, 10*time.Millisecond, 2*c.w.plan.lease)
	if !fixed {
		lease = 0
	} else {
		opts = append(opts, engine.WithLease(lease))
	}
	least := time.Duration(0)
	if s.kind.detachable() && c.r.IntN(6) == 0 {
		most := c.w.plan.mostStay()
		if fixed {
			most = lease
		}
		least = spread(c.r, time.Millisecond, most)
		opts = append(opts, engine.WithMinHold(least))
	}
	one := &held{p: c.p, s: s, shared: shared, fixed: fixed, lease: lease, least: least, owner: owner, again: depth > 0}
	answered := c.w.judge.ask(one)
	one.h, err = c.take(alive, one, l, opts)
	has := err == nil && c.granted(alive, one)
	answered()
	if !has {
		return
	}
	if least > 0 {
		c.w.judge.stays(one, one.asked, least)
	}
	c.have(alive, one, fixed, depth)
	if s.kind.detachable() && owner == (engine.Owner{}) && c.r.IntN(6) == 0 {
		c.detach(one)
	} else {
		c.giveBack(one)
	}
}

// useBriefly waits for a lock in its line, has it for a moment, and gives it back.
func (c *caller) useBriefly(alive context.Context, s *subject) {
	l, _ := c.p.locker(s, false)
	one, wait := &held{p: c.p, s: s}, 3*c.w.plan.lease
	answered := c.w.judge.ask(one)
	err := c.call(wait+c.freeTime(s), fmt.Sprintf("Lock %s, wait %v", s.name, wait), func() (err error) {
		one.h, err = l.Lock(alive, engine.WithWait(wait))
		return err
	})
	has := err == nil && c.granted(alive, one)
	answered()
	if has {
		c.sleep(c.moment())
		c.giveBack(one)
	}
}

// granted takes up a hold that was asked for. False: its life is over.
func (c *caller) granted(alive context.Context, one *held) bool {
	if alive.Err() != nil { // the judge has dropped what this life had
		one.granted, one.free = time.Now(), one.ends()
		one.h.UnlockAsync()
		return false
	}
	c.w.judge.add(one)
	return true
}

// take asks for a lock in one of all ways.
func (c *caller) take(alive context.Context, one *held, l engine.Locker, opts []engine.LockOption) (h *engine.Hold, err error) {
	ctx, cancel := context.WithCancel(alive)
	defer cancel()
	wait := spread(c.r, time.Millisecond, 3*c.w.plan.lease)
	how := c.r.IntN(8)
	ask, most := c.answerTime()+c.freeTime(one.s), wait+c.freeTime(one.s)
	if one.s.kind == quorumKind { // each server has a tenth of the lease
		ask = max(ask, c.w.plan.lease/5+c.freeTime(one.s))
	}
	if one.tried = how >= 4 && how != 7; !one.tried {
		defer c.w.judge.waits(one)()
	}
	switch how {
	case 0, 1, 2:
		opts = append(opts, engine.WithWait(wait))
		err = c.call(most, fmt.Sprintf("Lock %s, wait %v", l.Name(), wait), func() error { h, err = l.Lock(ctx, opts...); return err })
	case 3:
		ctx, cancel := context.WithTimeout(ctx, wait)
		defer cancel()
		err = c.call(most, fmt.Sprintf("Lock %s, context of %v", l.Name(), wait), func() error { h, err = l.Lock(ctx, opts...); return err })
	case 4, 5:
		err = c.call(ask, "TryLock "+l.Name(), func() error { h, err = l.TryLock(ctx, opts...); return err })
	case 6:
		err = c.call(ask, "TryLockAsync "+l.Name(), func() error {
			h, err = l.TryLockAsync(ctx, opts...).Wait(context.Background())
			return err
		})
	case 7:
		err = c.call(most, fmt.Sprintf("LockAsync %s, cancelled after %v", l.Name(), wait), func() error {
			f := l.LockAsync(ctx, opts...)
			select {
			case <-f.Done():
			case <-time.After(wait):
				f.Cancel()
			}
			h, err = f.Wait(context.Background())
			return err
		})
	}
	return h, err
}

// have does something with a lock.
func (c *caller) have(alive context.Context, one *held, fixed bool, depth int) {
	h := one.h
	if c.w.plan.hot && c.r.IntN(20) > 0 {
		c.sleep(c.moment())
		return
	}
	if c.r.IntN(3) == 0 {
		c.w.judge.listen(one)
	}
	if c.w.plan.long {
		for end := time.Now().Add(spread(c.r, c.w.plan.lease, 20*c.w.plan.lease)); time.Now().Before(end) && h.Err() == nil && !c.w.recovering.Load(); {
			c.sleep(spread(c.r, time.Millisecond, c.w.plan.lease))
		}
	}
	for range c.r.IntN(4) {
		if alive.Err() != nil || c.w.recovering.Load() || c.w.failed() {
			return
		}
		switch c.r.IntN(11) {
		case 0, 1:
			c.sleep(spread(c.r, 100*time.Microsecond, c.w.plan.lease))
		case 2:
			c.sleep(spread(c.r, time.Millisecond, 50*time.Millisecond))
		case 3: // to the very end, or a hair before
			c.sleep(time.Until(h.Deadline()) - time.Duration(c.r.IntN(3))*time.Microsecond)
		case 4:
			if fixed {
				c.extend(alive, h)
			}
		case 5:
			ctx, cancel := context.WithTimeout(h.Context(alive), spread(c.r, time.Millisecond, c.w.plan.lease))
			<-ctx.Done()
			cancel()
			c.p.stand()
		case 6:
			if one.owner != (engine.Owner{}) && depth < 2 {
				c.useLock(alive, one.s, one.owner, depth+1)
			}
		case 7:
			if m, is := c.mutex(one.s); is && c.r.IntN(6) == 0 {
				c.force(alive, one.s, m)
			} else if is {
				c.call(c.answerTime()+c.w.plan.lease/3, "Inspect "+m.Name(), func() error { _, err := m.Inspect(alive); return err })
			}
		case 8: // work in pieces, each while the lock is held
			for range c.r.IntN(60) {
				if h.Err() != nil || alive.Err() != nil {
					break
				}
				c.sleep(spread(c.r, time.Millisecond, c.w.plan.lease/4))
			}
		case 9:
			h.Count()
		case 10:
			c.untilWanted(alive, one)
		}
	}
}

// extend extends a hold twice at the same time.
func (c *caller) extend(alive context.Context, h *engine.Hold) {
	lease, other := spread(c.r, 10*time.Millisecond, 2*c.w.plan.lease), spread(c.r, 10*time.Millisecond, 2*c.w.plan.lease)
	c.call(c.answerTime(), fmt.Sprintf("Extend %s, leases %v and %v", h.Name(), lease, other), func() error {
		beside := make(chan error, 1)
		go func() { beside <- h.Extend(alive, other) }()
		err := h.Extend(alive, lease)
		return errors.Join(err, <-beside)
	})
}

// moment is for how long a caller has what many want: mostly so short that the name changes hands many times before it is confirmed again.
func (c *caller) moment() time.Duration {
	most := time.Millisecond
	if c.r.IntN(4) == 0 {
		most = 20 * time.Millisecond
	}
	return spread(c.r, 20*time.Microsecond, most)
}

func (c *caller) mutex(s *subject) (*engine.Mutex, bool) {
	if s.kind == permitKind {
		return nil, false
	}
	l, _ := c.p.locker(s, false)
	m, is := l.(*engine.Mutex)
	return m, is
}

// force frees a lock, whoever has it: that may be who got it after the call began.
func (c *caller) force(alive context.Context, s *subject, m *engine.Mutex) {
	c.w.judge.forcing(1)
	defer c.w.judge.forcing(-1)
	c.call(2*c.answerTime()+c.w.plan.lease/3, "ForceUnlock "+m.Name(), func() error { _, err := m.ForceUnlock(alive); return err })
}

// giveBack unlocks.
func (c *caller) giveBack(one *held) {
	c.w.judge.remove(one)
	h, ctx, ends := one.h, context.Background(), one.ends()
	what := "Unlock " + h.Name()
	if c.r.IntN(8) == 0 {
		ended, cancel := context.WithCancel(ctx)
		cancel()
		ctx, what = ended, what+", context ended"
	}
	var err error
	if c.r.IntN(4) == 0 {
		err = c.call(max(time.Until(h.Deadline()), c.w.plan.lease)+c.answerTime(), "UnlockAsync "+h.Name(), func() error {
			_, err := h.UnlockAsync().Wait(context.Background())
			return err
		})
	} else {
		err = c.call(c.answerTime(), what, func() error { return h.Unlock(ctx) })
	}
	if err == nil {
		ends = time.Now()
	}
	c.w.judge.freed(one, ends)
	if over := h.Err(); over == nil {
		c.w.violation("unlock", "%v: Unlock of %s said %v, and Err is nil", c, h.Name(), err)
	}
	if again := h.Unlock(context.Background()); again == nil || !errors.Is(again, engine.ErrUnlocked) && !errors.Is(again, engine.ErrLost) {
		c.w.violation("unlock", "%v: the second Unlock of %s said %v", c, h.Name(), again)
	}
}
