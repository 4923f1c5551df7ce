package engine

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/wheellock/wheellock/futures"
)

// multiCall is one call for a MultiLock, from the call to its answer. No goroutine waits for it: the one that is started by the
// last answer of the members (after, in callbacks.go) asks the next question.
type multiCall struct {
	m       *MultiLock
	once    bool            // it does not wait
	ctx     context.Context // ends with the caller's, and by Cancel
	asking  context.Context // ends with the wait besides: a silent server must not prolong it
	stop    context.CancelFunc
	wait    time.Duration // that of WithWait; 0: none
	end     time.Time     // of the wait; zero: it has none
	opts    []LockOption
	tries   int
	last    error // the last answer of any member
	promise futures.Promise[*Hold]
}

// start makes the call; once: it does not wait.
func (m *MultiLock) start(ctx context.Context, once bool, opts []LockOption) *futures.Future[*Hold] {
	d, err := m.e.opts.read(opts, once, m.kind)
	if err != nil {
		return futures.Settled[*Hold](&m.e.callbacks, nil, m.failed(err))
	}
	c := &multiCall{m: m, once: once, last: ErrUnavailable}
	var cancel context.CancelFunc
	c.ctx, cancel = context.WithCancel(ctx)
	c.asking, c.stop = c.ctx, cancel
	if d.wait > 0 {
		c.wait, c.end = d.wait, time.Now().Add(d.wait)
		var ended context.CancelFunc
		c.asking, ended = context.WithDeadline(c.ctx, c.end)
		c.stop = func() { ended(); cancel() }
	}
	c.opts = append(withoutWait(opts), asPart)
	c.promise.Init(&m.e.callbacks, c)
	c.ask(-1, nil)
	return c.promise.Future()
}

// Cancelled implements futures.Canceler. What is granted afterwards is given back.
func (c *multiCall) Cancelled() { c.stop() }

// settle answers the call.
func (c *multiCall) settle(h *Hold, err error) {
	c.stop()
	if !c.promise.Settle(h, err) && h != nil {
		h.UnlockAsync()
	}
}

// ask asks all members but the first, which is held already if it is not -1.
func (c *multiCall) ask(first int, held *Hold) {
	var answers []*futures.Future[*Hold]
	for i, l := range c.m.members {
		if i != first {
			answers = append(answers, l.TryLockAsync(c.asking, c.opts...))
		}
	}
	after(c.m.e, answers...).Then(func([]*Hold, error) { c.answered(first, held, answers) })
}

// answered reads the answers of all members. In case one was not granted, the others are given back.
func (c *multiCall) answered(first int, held *Hold, answers []*futures.Future[*Hold]) {
	var holds []*Hold
	var err error
	refused := -1 // the first member that was not granted, or the first with which it is no use to wait
	for i := range c.m.members {
		h, failed := held, error(nil)
		if i != first {
			h, failed = answers[0].Result()
			answers = answers[1:]
		}
		if failed == nil {
			holds = append(holds, h)
		} else if refused < 0 || !passing(failed) && passing(err) {
			refused, err = i, failed
		}
	}
	if err != nil {
		giveBack(holds)
		c.refused(refused, err)
		return
	}
	h := c.m.compose(len(holds), holds)
	if h.Err() == nil {
		c.settle(h, nil)
		return
	}
	giveBack(holds)
	if err = c.m.tooLate(h); c.once {
		c.settle(nil, err)
		return
	}
	c.pause(err, func() { c.ask(-1, nil) })
}

// refused goes on after a member was not granted: the call waits for that member, and then asks for the others.
func (c *multiCall) refused(member int, err error) {
	switch {
	case c.once:
		c.settle(nil, err)
		return
	case c.ctx.Err() != nil: // err may come from a member that was not asked any more
		c.settle(nil, c.over())
		return
	case c.asking.Err() == nil || passing(err):
		c.last = err
	}
	c.pause(err, func() {
		answer := c.m.members[member].LockAsync(c.ctx, c.waitOptions()...)
		after(c.m.e, answer).Then(func([]*Hold, error) {
			if held, err := answer.Result(); err != nil {
				if over := (*unmet)(nil); errors.As(err, &over) {
					over.wait = c.wait // of which the member's is the rest
				}
				c.settle(nil, err)
			} else {
				c.ask(member, held)
			}
		})
	})
}

// waitOptions are those of the wait for one member. After the end of the wait a minimal one is left.
func (c *multiCall) waitOptions() []LockOption {
	if c.end.IsZero() {
		return c.opts
	}
	return append(slices.Clone(c.opts), WithWait(max(time.Until(c.end), time.Nanosecond)))
}

// over is the error of a call if its context, or its wait, has ended; nil: neither has.
func (c *multiCall) over() error {
	switch {
	case c.ctx.Err() != nil:
		return c.m.failed(unmetAfter(endedBy(c.ctx), c.last, 0))
	case c.asking.Err() != nil:
		return c.m.failed(unmetAfter(ErrWaitTimeout, c.last, c.wait))
	}
	return nil
}

// pause goes on after a while, which ends early with the wait. If err, the last answer, does not pass, it is the answer of the
// call.
func (c *multiCall) pause(err error, next func()) {
	if over := c.over(); over != nil {
		c.settle(nil, over)
		return
	}
	if !passing(err) {
		c.settle(nil, err)
		return
	}
	c.last = err
	pause, stop := context.WithTimeout(c.asking, backOffTime(c.tries, err))
	c.tries++
	context.AfterFunc(pause, func() {
		stop()
		if over := c.over(); over != nil {
			c.settle(nil, over)
			return
		}
		next()
	})
}
