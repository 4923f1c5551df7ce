package gate

import (
	"testing"
	"time"
)

// A caller that does not wait while the link is down is answered as soon as it goes down, and leaves nothing behind; the others wait on.
// invariant: answered-once
func TestFailFastScenes(t *testing.T) {
	playScenes(t, MutexKind, map[string]string{
		"one whose question is on its way: a grant that still comes is released": `
			a locks fast                     -> acquire 1 1s
			link-down                        -> a: doubtful
			answer 1                         -> release 1`,
		"a re-entry that needs a longer lease": `
			a locks owner 7 lease 500ms      -> acquire 1 500ms
			answer 1                         -> a: granted until 495ms
			b locks owner 7 lease 2s fast    -> renew 1 2s
			link-breaks
			link-down                        -> b: doubtful
			lost`,
	})
	playScene(t, RWKind, `
			a locks                          -> acquire read 1 1s
			answer 1                         -> a: granted until 990ms
			b locks write fast
			c locks
			link-down                        -> b: doubtful; c: granted until 990ms, handed on`)
	playScene(t, FairKind, `
			a locks fast                     -> fair ask 1 NEW 1s next 1 n 1
			lost
			link-down                        -> a: doubtful; fair leave 1 n 1`)
	playScene(t, SemaphoreKind, `
			a locks n 2 fast                 -> take 1 2x1,
			b locks n 3 fast
			c locks n 1
			lost
			link-down                        -> a: doubtful; b: doubtful`)
}

// While the link is down a caller that does not wait for it gets nothing but a re-entry that needs no answer, whatever of the hold that it would
// enter has ended a moment ago.
func TestWhatFailsWhileTheLinkIsDown(t *testing.T) {
	_, m := settledGate()
	fx := &Effects{}
	outer := asks(7)
	outer.waiter.Watch, outer.waiter.LeaseTime = false, 10*time.Second
	m.Ask(time.Second, &outer.waiter, fx)
	answerAcquire(m, time.Second, fx, 1)
	for _, c := range []struct {
		what  string
		at    time.Duration
		owner uint64
		lease time.Duration
		fails bool
	}{
		{"another caller", 2 * time.Second, 0, time.Second, true},
		{"a re-entry for less", 2 * time.Second, 7, time.Second, false},
		{"a re-entry for more", 2 * time.Second, 7, time.Minute, true},
		{"a re-entry into what is over", 12 * time.Second, 7, time.Second, true},
	} {
		w := &Waiter{Owner: c.owner, LeaseTime: c.lease, Fast: true}
		if got := m.FailsWhileDown(c.at, w); got != c.fails {
			t.Errorf("%s: fails %t, want %t", c.what, got, c.fails)
		}
	}
}
