package bubble

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/wheellock/wheellock/engine"
)

// caller is a goroutine of a process that uses its engines. When its process begins a new life, so does the caller.
type caller struct {
	p *process
	w *World
	n int
	r *rand.Rand
}

func newCaller(p *process, n int) *caller {
	return &caller{p: p, w: p.w, n: n, r: p.w.chance(callerChance + uint64(100*p.n+n))}
}

func (c *caller) String() string { return fmt.Sprintf("%v/%d", c.p, c.n) }

// run uses one name after the other, until the world is mended.
func (c *caller) run() {
	for !c.w.recovering.Load() && !c.w.failed() {
		c.sleep(spread(c.r, c.w.plan.think/20, 2*c.w.plan.think))
		s := c.w.subjects[c.r.IntN(len(c.w.subjects))]
		_, alive := c.p.all()
		if c.w.plan.brief {
			if c.n > 0 {
				s = s.alone[c.n%len(s.alone)]
			}
			c.useBriefly(alive, s)
			continue
		}
		if s.kind == multiKind && c.r.IntN(2) > 0 {
			s = s.alone[c.r.IntN(len(s.alone))]
		}
		switch s.kind {
		case permitKind:
			c.usePermits(s)
		case semaphoreKind:
			c.useSemaphore(s)
		case latchKind:
			c.useLatch(s)
		default:
			if c.r.IntN(4) == 0 && c.adopt(alive, s) {
				continue
			}
			c.useLock(alive, s, engine.Owner{}, 0)
		}
	}
}

// sleep lets time pass, and more of it while the process is stopped.
func (c *caller) sleep(d time.Duration) {
	time.Sleep(d)
	c.p.stand()
}

// call is one that must return within a time.
func (c *caller) call(within time.Duration, what string, call func() error) error {
	c.p.stand()
	var err error
	c.w.note("%v %s", c, what)
	c.w.calls.bounded(c.p, what, within, func() { err = call() })
	c.p.stand()
	if err != nil {
		c.w.note("%v %s: %v", c, what, err)
		c.expected(what, err)
	}
	return err
}

// answerTime is how long a call waits that asks Redis once.
func (c *caller) answerTime() time.Duration { return min(time.Second, c.w.plan.lease/3) }

// freeTime is how much longer a call for several locks may take: it waits for its releases.
func (c *caller) freeTime(s *subject) time.Duration {
	if s.kind == multiKind || s.kind == quorumKind {
		return c.answerTime() / 10
	}
	return 0
}

// known are the errors that a call may end with, whatever befalls it.
var known = []error{
	engine.ErrHeld, engine.ErrWaitTimeout, engine.ErrUnavailable, engine.ErrLost, engine.ErrUnlocked, engine.ErrClosed,
	context.Canceled, context.DeadlineExceeded,
}

// expected judges an error.
func (c *caller) expected(what string, err error) {
	for _, one := range known {
		if errors.Is(err, one) {
			return
		}
	}
	if errors.Is(err, engine.ErrDeadlock) {
		return
	}
	c.w.violation("errors", "%v: %s: %v", c, what, err)
}
