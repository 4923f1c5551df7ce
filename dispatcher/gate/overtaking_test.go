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
func contested(t *testing.T, fx *Effects) (*Lock, *reuser) {
	_, m := settledGate()
	m.cfg.HandoffTime = 0
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

// The message of our own release comes back, perhaps before the answer to the release. It is a hint like any other.
func TestMessageOfOurOwnRelease(t *testing.T) {
	for name, n := range map[string]int32{"one after it": 1, "one together with it": 2} {
		t.Run("is not taken for that of others, but "+name+" is", func(t *testing.T) {
			fx := &Effects{}
			m, _ := contested(t, fx)
			answerLast(m, Release, time.Second, fx, 2)
			for range 3 - n {
				m.Message(time.Second+time.Millisecond, News{N: n}, fx)
			}
			if met := m.contest.rivals.turns.met; met != time.Second+time.Millisecond {
				t.Errorf("others were met at %v", met)
			}
		})
	}
}

func TestSuspicionOutlivesTheCommandOnItsWay(t *testing.T) {
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
