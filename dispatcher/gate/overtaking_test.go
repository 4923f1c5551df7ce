package gate

import (
	"testing"
	"time"

	"github.com/wheellock/wheellock/scripts"
)

// answerLast answers the newest command of an operation, sent a millisecond ago, and empties the outbox.
func answerLast(m *Lock, op Op, now Time, fx *Effects, reply scripts.Reply) {
	sent := fx.Commands[op]
	c := sent[len(sent)-1]
	*fx = Effects{}
	c.Sent, c.Result, c.Reply = now-time.Millisecond, Answered, reply
	m.Answer(now, &c, fx)
}

// contested is a name that this process has just freed: one caller waits for it, and it listens. The release
// is on its way.
func contested(t *testing.T, fx *Effects, echo int32) (*Lock, *reuser) {
	_, m := settledGate()
	m.cfg.HandoffTime, m.cfg.Echo = 0, echo
	first, second := asks(0), asks(0)
	m.Ask(time.Second, &first.waiter, fx)
	m.Ask(time.Second, &second.waiter, fx)
	answerLast(m, Acquire, time.Second, fx, -10_002) // taken: it subscribes
	m.Subscribed(time.Second, scripts.Inbox(scripts.LockChannel(m.Name), m.cfg.UUID), "", fx)
	answerLast(m, AcquireInLine, time.Second, fx, -4<<43-10_002) // by an owner that tells the first in line nothing: it listens
	m.Subscribed(time.Second, scripts.LockChannel(m.Name), "", fx)
	answerLast(m, AcquireInLine, time.Second, fx, 1)
	m.Unlock(time.Second, &first.hold, nil, fx)
	if len(first.heard) != 1 || len(fx.Commands[Release]) != 1 {
		t.Fatalf("first heard %v, releases on their way: %d", first.heard, len(fx.Commands[Release]))
	}
	return m, second
}

func TestMessageMayOvertakeTheAnswerToItsRelease(t *testing.T) {
	t.Run("then it was our own, and the next one is somebody else's", func(t *testing.T) {
		fx := &Effects{}
		m, _ := contested(t, fx, 1)
		m.Message(time.Second, oneMessage, fx)
		answerLast(m, Release, time.Second, fx, 1)
		answerLast(m, AcquireInLine, time.Second, fx, -10_002) // another process was quicker
		if n := len(fx.Commands[AcquireInLine]); n != 0 {
			t.Fatalf("asked again at once: %d acquires", n)
		}
		m.Message(2*time.Second, oneMessage, fx)
		if n := len(fx.Commands[AcquireInLine]); n != 1 {
			t.Errorf("acquires after the other's unlocking = %d, want 1", n)
		}
	})
	t.Run("and does not cut short what is yielded to others who listen", func(t *testing.T) {
		fx := &Effects{}
		m, _ := contested(t, fx, 1)
		m.Message(time.Second, oneMessage, fx)
		answerLast(m, Release, time.Second, fx, 2)
		if n := len(fx.Commands[AcquireInLine]); n != 0 {
			t.Errorf("acquires while the name is left to others = %d, want 0", n)
		}
		if got := m.NextAlarm(); got < time.Second+minYield {
			t.Errorf("asks again at %v, want at least %v later", got, minYield)
		}
	})
	t.Run("but one that came when our release woke nobody is somebody else's", func(t *testing.T) {
		fx := &Effects{}
		m, _ := contested(t, fx, 1)
		m.Message(time.Second, oneMessage, fx)
		answerLast(m, Release, time.Second, fx, scripts.PublishDenied)
		answerLast(m, AcquireInLine, time.Second, fx, -10_002)
		m.Message(2*time.Second, oneMessage, fx)
		if n := len(fx.Commands[AcquireInLine]); n != 1 {
			t.Errorf("acquires after the next message = %d, want 1", n)
		}
	})
}

func TestSuspicionOutlivesTheCommandOnItsWay(t *testing.T) {
	t.Run("a renewal that may have run before is repeated", func(t *testing.T) {
		_, m := settledGate()
		fx, r := &Effects{}, asks(0)
		m.Ask(time.Second, &r.waiter, fx)
		answerLast(m, Acquire, time.Second, fx, 1)
		m.Wake(12*time.Second, fx)
		m.Suspect(12*time.Second, fx)
		answerLast(m, Renew, 12*time.Second, fx, 1)
		if n := len(fx.Commands[Renew]); n != 1 {
			t.Fatalf("renewals after the answer = %d, want 1", n)
		}
		answerLast(m, Renew, 12*time.Second, fx, 1)
		if n := len(fx.Commands[Renew]); n != 0 || m.lease.Doubt {
			t.Errorf("renewals after the second answer = %d, doubt = %v; want none", n, m.lease.Doubt)
		}
	})
	t.Run("a grant is verified", func(t *testing.T) {
		_, m := settledGate()
		fx, r := &Effects{}, asks(0)
		m.Ask(time.Second, &r.waiter, fx)
		m.Suspect(time.Second, fx)
		answerLast(m, Acquire, time.Second, fx, 1)
		if n := len(fx.Commands[Renew]); n != 1 {
			t.Errorf("renewals after the grant = %d, want 1", n)
		}
	})
}

// With PubSubBoth each of our messages comes back twice, and is not somebody else's the second time.
func TestMessageThatGoesBothWaysIsOurOwnTwice(t *testing.T) {
	fx := &Effects{}
	m, _ := contested(t, fx, 2)
	m.Message(time.Second, oneMessage, fx)
	answerLast(m, Release, time.Second, fx, 1)
	answerLast(m, AcquireInLine, time.Second, fx, -10_002) // another process was quicker
	m.Message(time.Second, oneMessage, fx)
	if n := len(fx.Commands[AcquireInLine]); n != 0 {
		t.Fatalf("asked again at our own message: %d acquires", n)
	}
	m.Message(2*time.Second, oneMessage, fx)
	if n := len(fx.Commands[AcquireInLine]); n != 1 {
		t.Errorf("acquires after the other's unlocking = %d, want 1", n)
	}
}
