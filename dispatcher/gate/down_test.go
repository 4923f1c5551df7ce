package gate

import (
	"testing"
	"time"
)

// failLast answers the command of this kind that was sent last.
func failLast(m *Lock, now Time, fx *Effects, op Op, result Result) {
	sent := fx.Commands[op]
	c := sent[len(sent)-1]
	c.Sent, c.Result = now-time.Millisecond, result
	m.Answer(now, &c, fx)
}

func triesWith(owner uint64) *reuser {
	r := asks(owner)
	r.waiter.Try = true
	return r
}

func wantHeard(t *testing.T, r *reuser, why Why) {
	t.Helper()
	if len(r.heard) != 1 || r.heard[0].Why != why {
		t.Errorf("heard %+v, want one %v", r.heard, why)
	}
}

// TryLock asks once: it fails when the link is known to be down, whatever else the name still has to do.
// invariant: trylock-takes-no-handoff
func TestTryLockWhileTheLinkIsDown(t *testing.T) {
	t.Run("fails at once after an acquire that got no answer", func(t *testing.T) {
		_, m := settledGate()
		fx := &Effects{}
		first := triesWith(0)
		m.Ask(time.Second, &first.waiter, fx)
		failLast(m, time.Second, fx, Acquire, Unknown)
		wantHeard(t, first, Doubtful)
		m.Wake(m.NextAlarm(), fx) // nobody wants it any more: it is released
		now := 2 * time.Second
		failLast(m, now, fx, Release, NotSent)

		for range 2 {
			again := triesWith(0)
			m.Ask(now, &again.waiter, fx)
			failLast(m, now, fx, Release, NotSent)
			wantHeard(t, again, Down)
			now += 10 * time.Millisecond
		}
	})
	t.Run("fails at once when it needs more of the lease", func(t *testing.T) {
		_, m := settledGate()
		fx := &Effects{}
		outer := asks(7)
		outer.waiter.Watch, outer.waiter.LeaseTime = false, 10*time.Second
		m.Ask(time.Second, &outer.waiter, fx)
		answerAcquire(m, time.Second, fx, 1)
		now := 2 * time.Second
		for range 2 {
			inner := triesWith(7)
			m.Ask(now, &inner.waiter, fx)
			failLast(m, now, fx, Renew, NotSent)
			wantHeard(t, inner, Down)
			now += 10 * time.Millisecond
		}
		lost := triesWith(7)
		m.Ask(now, &lost.waiter, fx)
		failLast(m, now, fx, Renew, Unknown)
		wantHeard(t, lost, Doubtful)
	})
}
