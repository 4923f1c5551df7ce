package gate

import (
	"testing"
	"time"
)

// last is the command of this kind that was sent last.
func (r *stretching) last(op Op) *Command {
	r.Helper()
	sent := r.fx.Commands[op]
	if len(sent) == 0 {
		r.Fatalf("no %v was sent", op)
	}
	return &sent[len(sent)-1]
}

// stretching is a tenure of a fixed lease of 10s, taken at 1s.
type stretching struct {
	*testing.T
	m     *Lock
	fx    *Effects
	owner *reuser
}

func newStretching(t *testing.T) *stretching {
	_, m := settledGate()
	r := &stretching{T: t, m: m, fx: &Effects{}, owner: asks(7)}
	r.owner.waiter.Watch, r.owner.waiter.LeaseTime = false, 10*time.Second
	r.m.Ask(time.Second, &r.owner.waiter, r.fx)
	answerAcquire(m, time.Second, r.fx, 1)
	return r
}

// extend asks for an hour, and says how that went at 2s.
func (r *stretching) extend(result Result) {
	r.m.Extend(2*time.Second, &r.owner.hold, time.Hour, nil, r.fx)
	c := *r.last(Renew)
	c.Sent, c.Result, c.Reply = 2*time.Second, result, 1
	r.m.Answer(2*time.Second, &c, r.fx)
}

// wantReleasing fails the test unless the key is still being released at this time.
func (r *stretching) wantReleasing(now Time) {
	r.Helper()
	r.fx.Commands[Release] = nil
	r.m.Wake(now, r.fx)
	r.last(Release)
}

// A tenure is released, not left to its TTL, also when its TTL is longer than the lease it began with.
// invariant: handoff-keeps-lease
func TestStretchedTenureIsReleased(t *testing.T) {
	t.Run("when an extension ran out", func(t *testing.T) {
		r := newStretching(t)
		r.extend(Answered)
		r.wantReleasing(2*time.Second + time.Hour)
	})
	t.Run("for as long as an extension that got no answer may last", func(t *testing.T) {
		r := newStretching(t)
		r.extend(Unknown)
		r.m.Unlock(3*time.Second, &r.owner.hold, nil, r.fx)
		c := *r.last(Release)
		c.Sent, c.Result = 3*time.Second, Unknown
		r.m.Answer(3*time.Second, &c, r.fx)
		r.wantReleasing(time.Hour)
	})
	t.Run("for as long as an extension may last that was overtaken by the end", func(t *testing.T) {
		r := newStretching(t)
		r.m.Extend(2*time.Second, &r.owner.hold, time.Hour, nil, r.fx)
		r.m.Unlock(3*time.Second, &r.owner.hold, nil, r.fx)
		c := *r.last(Renew)
		c.Sent, c.Result, c.Reply = 2*time.Second, Answered, 1
		r.m.Answer(4*time.Second, &c, r.fx)
		c = *r.last(Release)
		c.Sent, c.Result = 4*time.Second, Unknown
		r.m.Answer(4*time.Second, &c, r.fx)
		r.wantReleasing(time.Hour)
	})
}
