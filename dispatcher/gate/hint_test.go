package gate

import (
	"slices"
	"testing"
	"time"

	"github.com/wheellock/wheellock/scripts"
)

// Invariant: a message is a hint that leads to a question, sooner or later; none is lost, however many were in vain. Here
// the message that counts comes while a question is out, whose answer is older:
//
//  1. Many messages were in vain, so that messages are heeded less often.
//  2. A question leaves, and finds nothing to be had.
//  3. Something comes free, and its message overtakes the answer to that question.
//  4. The answer comes. The waiter must ask again soon, not at the poll cap.
//
// invariant: one-command-per-name
func TestAMessageWhileAQuestionIsOutIsNotLost(t *testing.T) {
	const soon = 100 * time.Millisecond // the poll cap is 2 s
	refusals := map[Op]scripts.Reply{Take: 0, PermitTake: -30_000 - 2, GetCount: 1}
	for _, kind := range []Kind{SemaphoreKind, PermitKind, LatchKind, RWKind, MutexKind} {
		t.Run(kindNames[kind], func(t *testing.T) {
			b := newBench(t, kind, 30*time.Second)
			free, ends := false, b.now+10*time.Minute // of a fixed lease: the owner stays the same
			b.answer = func(c *Command) {
				well(c)
				reply, question := refusals[c.Op]
				if slices.Contains([]Op{Acquire, AcquireInLine, AcquireWrite, AcquireWriteInLine}, c.Op) {
					reply, question = scripts.Reply(-(ends-b.now).Milliseconds()-2), true
				}
				switch {
				case question && !free:
					c.Reply = reply
				case c.Op == GetCount:
					c.Reply = 0
				}
			}
			u := b.ask(func(w *Waiter) { w.Write = kind == RWKind })
			b.run(10 * time.Millisecond)
			b.step(func(m Machine) { m.Subscribed(b.now, scripts.Inbox(scripts.LockChannel("stock"), "u"), "", &b.fx) })
			b.run(10 * time.Millisecond)
			message := func() { b.step(func(m Machine) { m.Message(b.now, oneMessage, &b.fx) }) }
			for range 3 * vainQuestions {
				message()
				b.run(longestHeed + 5*time.Millisecond)
			}
			out := len(b.answers)
			message()
			for len(b.answers) == out {
				b.run(100 * time.Microsecond)
			}
			refuse := b.answer
			b.answer = func(c *Command) { refuse(c); free = true; b.answer = refuse } // the question ran before
			message()
			began := b.now
			for u.out == nil && b.now < began+10*time.Second {
				b.run(time.Millisecond)
			}
			if waited := b.now - began; waited > soon {
				t.Errorf("granted %v after the message, want %v at most", waited, soon)
			}
		})
	}
}

// Invariant: nothing is repeated without a pause. Readers of ours believe in a lock whose key is gone, and another writes:
// the reader that waits must not ask at the speed of the round trip until a renewal finds out.
func TestReadersBesideALostKeyAskRarely(t *testing.T) {
	b := newBench(t, RWKind, 30*time.Second)
	b.ask(nil)
	b.run(100 * time.Millisecond)
	ends := b.now + 10*time.Minute
	b.answer = func(c *Command) {
		well(c)
		if c.Op == AcquireRead {
			c.Reply = scripts.Reply(-(ends - b.now).Milliseconds() - 2)
		}
	}
	b.rtt = 300 * time.Microsecond
	b.ask(nil)
	b.run(10 * time.Millisecond)
	b.step(func(m Machine) { m.Subscribed(b.now, scripts.Inbox(scripts.LockChannel("stock"), "u"), "", &b.fx) })
	b.run(5 * time.Second)
	if n, op := b.rate(0); n > 20 {
		t.Errorf("%d commands within a second: %s", n, op)
	}
}
