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
func (m *multiCall) Cancelled() { m.stop() }

// settle answers the call.
func (m *multiCall) settle(h *Hold, err error) {
	m.stop()
	if !m.promise.Settle(h, err) && h != nil {
		h.UnlockAsync()
	}
}

// ask asks all members but the first, which is held already if it is not -1.
func (m *multiCall) ask(first int, held *Hold) {
	var answers []*futures.Future[*Hold]
	for i, l := range m.m.members {
		if i != first {
			answers = append(answers, l.TryLockAsync(m.asking, m.opts...))
		}
	}
	after(m.m.e, answers...).Then(func([]*Hold, error) { m.answered(first, held, answers) })
}

// answered reads the answers of all members. In case one was not granted, the others are given back.
func (m *multiCall) answered(first int, held *Hold, answers []*futures.Future[*Hold]) {
	var holds []*Hold
	var err error
	refused := -1 // the first member that was not granted, or the first with which it is no use to wait
	for i := range m.m.members {
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
		m.refused(refused, err)
		return
	}
	h := m.m.compose(len(holds), holds)
	if h.Err() == nil {
		m.settle(h, nil)
		return
	}
	giveBack(holds)
	if err = m.m.tooLate(h); m.once {
		m.settle(nil, err)
		return
	}
	m.pause(err, func() { m.ask(-1, nil) })
}

// refused goes on after a member was not granted: the call waits for that member, and then asks for the others.
func (m *multiCall) refused(member int, err error) {
	switch {
	case m.once:
		m.settle(nil, err)
		return
	case m.ctx.Err() != nil: // err may come from a member that was not asked any more
		m.settle(nil, m.over())
		return
	case m.asking.Err() == nil || passing(err):
		m.last = err
	}
	m.pause(err, func() {
		answer := m.m.members[member].LockAsync(m.ctx, m.waitOptions()...)
		after(m.m.e, answer).Then(func([]*Hold, error) {
			if held, err := answer.Result(); err != nil {
				if over := (*unmet)(nil); errors.As(err, &over) {
					over.wait = m.wait // of which the member's is the rest
				}
				m.settle(nil, err)
			} else {
				m.ask(member, held)
			}
		})
	})
}

// waitOptions are those of the wait for one member. After the end of the wait a minimal one is left.
func (m *multiCall) waitOptions() []LockOption {
	if m.end.IsZero() {
		return m.opts
	}
	return append(slices.Clone(m.opts), WithWait(max(time.Until(m.end), time.Nanosecond)))
}

// over is the error of a call if its context, or its wait, has ended; nil: neither has.
func (m *multiCall) over() error {
	switch {
	case m.ctx.Err() != nil:
		return m.m.failed(unmetAfter(endedBy(m.ctx), m.last, 0))
	case m.asking.Err() != nil:
		return m.m.failed(unmetAfter(ErrWaitTimeout, m.last, m.wait))
	}
	return nil
}

// pause goes on after a while, which ends early with the wait. If err, the last answer, does not pass, it is the answer of the
// call.
func (m *multiCall) pause(err error, next func()) {
	if over := m.over(); over != nil {
		m.settle(nil, over)
		return
	}
	if !passing(err) {
		m.settle(nil, err)
		return
	}
	m.last = err
	pause, stop := context.WithTimeout(m.asking, backOffTime(m.tries, err))
	m.tries++
	context.AfterFunc(pause, func() {
		stop()
		if over := m.over(); over != nil {
			m.settle(nil, over)
			return
		}
		next()
	})
}
