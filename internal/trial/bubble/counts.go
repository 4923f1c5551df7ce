package bubble

import (
	"errors"
	"fmt"
	"time"

	"github.com/wheellock/wheellock/engine"
)

// useSemaphore takes permits that have no owner, and gives them back.
func (c *caller) useSemaphore(s *subject) {
	_, alive := c.p.all()
	sem := c.p.engine(0).Semaphore(s.name)
	n := int64(1 + c.r.IntN(2))
	one := &held{p: c.p, s: s, permits: int(n)}
	defer c.w.judge.ask(one)()
	var err error
	if c.r.IntN(2) == 0 {
		err = c.call(c.answerTime(), "TryAcquire "+s.name, func() error { return sem.TryAcquire(alive, n) })
	} else {
		wait := spread(c.r, time.Millisecond, 3*c.w.plan.lease)
		err = c.call(wait, fmt.Sprintf("Acquire %d of %s, wait %v", n, s.name, wait), func() error { return sem.Acquire(alive, n, engine.WithWait(wait)) })
	}
	if err != nil {
		if errors.Is(err, engine.ErrClosed) { // taken, perhaps, and never given back
			s.tally.move(0, 0)
		}
		return
	}
	one.granted = time.Now()
	s.tally.move(n, 0)
	c.w.judge.look()
	if c.w.plan.hot {
		c.sleep(c.moment())
	} else {
		c.sleep(spread(c.r, time.Millisecond, c.w.plan.lease))
	}
	s.tally.move(-n, n) // from now on it may be counted
	err = c.call(c.answerTime(), fmt.Sprintf("Release %d of %s", n, s.name), func() error { return sem.Release(alive, n) })
	if err == nil || errors.Is(err, engine.ErrRefused) || errors.Is(err, engine.ErrClosed) && !errors.Is(err, engine.ErrUncertain) {
		if err == nil {
			s.tally.move(0, -n)
		} else {
			s.tally.lose(n)
		}
	}
}

// useLatch counts a latch down, waits for it, or sets it anew.
func (c *caller) useLatch(s *subject) {
	_, alive := c.p.all()
	l := c.p.engine(0).CountDownLatch(s.name)
	switch c.r.IntN(4) {
	case 0:
		c.call(c.answerTime(), "CountDown "+s.name, func() error { return l.CountDown(alive) })
	case 1:
		n := int64(1 + c.r.IntN(4))
		c.call(c.answerTime(), fmt.Sprintf("TrySetCount %d of %s", n, s.name), func() error { _, err := l.TrySetCount(alive, n); return err })
	case 2:
		wait := spread(c.r, time.Millisecond, 3*c.w.plan.lease)
		c.call(wait, fmt.Sprintf("Wait for %s, %v", s.name, wait), func() error { return l.Wait(alive, engine.WithWait(wait)) })
	case 3:
		c.call(c.answerTime(), "Count "+s.name, func() error { _, err := l.Count(alive); return err })
	}
}
