package dispatcher

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/wheel"
)

// The goroutine that brings the first event takes the turn while few names are on their way. It wakes the loop while many are, while another
// takes a turn, and after a turn in which the dispatcher begins to close.
func TestTurnsWithoutTheLoop(t *testing.T) {
	l := loopOf(func(wheel.Tick) {})
	l.withoutNode()
	t.Cleanup(func() { l.start().Close() })
	asks := func(when string, answered bool) {
		t.Helper()
		a := &asker{}
		a.waiter = gate.Waiter{By: a, Hold: &a.hold, LeaseTime: 30 * time.Second, Watch: true, Try: true}
		l.mail.putAsk(ask{&a.waiter, "stock:7", gate.MutexKind, 1})
		if now := len(a.heard) == 1; now != answered {
			t.Errorf("%s: answered by a turn of its caller: %v, want %v", when, now, answered)
		}
		if woken := len(l.mail.wake) == 1; woken == answered {
			t.Errorf("%s: the loop is woken: %v", when, woken)
		}
		if !answered {
			<-l.mail.wake
			l.takeTurn(true)
		}
		if len(a.heard) != 1 {
			t.Errorf("%s: answered %d times", when, len(a.heard))
		}
	}
	asks("at first", true)
	for _, near := range []bool{true, false} {
		l.nodes.names, l.nodes.near = 1, near
		asks("with one name on its way", true)
		l.nodes.names = 2
		asks("when two names leave", true)
		asks("while two are on their way", near)
		l.nodes.names = fewNames + 1
		asks("when many names leave", near)
		asks("while many are on their way", false)
		l.nodes.names = 1
		for range 8 * fade {
			asks("soon after", l.direct.on.Load())
		}
		asks("long after", true)
	}
	l.turns.begin()
	asks("beside a turn", false)
	l.turns.end()
	l.mail.queue.events = append(l.mail.queue.events, closing{})
	l.takeTurnHere()
	if !l.closing || len(l.mail.wake) != 1 {
		t.Errorf("closing: %v, and the loop is woken %d times", l.closing, len(l.mail.wake))
	}
}

// Events that come late in a long mail are not handled by the time at which the turn began.
func TestTheTimeGoesOnInALongMail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := loopOf(func(wheel.Tick) {})
		l.withoutNode()
		var seen []gate.Time
		for range 2 * clockStride {
			l.mail.put(do(func(now gate.Time) {
				seen = append(seen, now)
				time.Sleep(time.Second)
			}))
		}
		if l.takeTurn(true); seen[clockStride-1] < time.Second || seen[2*clockStride-1] < clockStride*time.Second {
			t.Errorf("events that take a second each see the times %v", seen)
		}
		l.start().Close()
	})
}

// What comes due while a turn handles its mail is not left to the next turn.
func TestWhatComesDueInATurnIsHandledThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, a := loopOf(func(wheel.Tick) {}), &asker{}
		l.withoutNode()
		a.waiter = gate.Waiter{By: a, Hold: &a.hold, LeaseTime: 30 * time.Second, Watch: true, Until: 5 * time.Second}
		l.mail.putFor(l.mail.wakeUp, &ask{&a.waiter, "stock:7", gate.MutexKind, 1})
		l.mail.put(do(func(gate.Time) { time.Sleep(10 * time.Second) }))
		if l.takeTurn(true); len(a.heard) != 1 || a.heard[0].Why != gate.TimedOut {
			t.Errorf("a wait of 5s that ends in a turn of 10s: heard %+v", a.heard)
		}
		l.start().Close()
	})
}

// A panic in a turn ends the process, also if the caller on whose goroutine it is taken recovers. The process is a child of the test.
func TestAPanicInATurnEndsTheProcess(t *testing.T) {
	if os.Getenv("WHEELLOCK_PANIC") != "" {
		defer func() { recover() }()
		l := loopOf(func(wheel.Tick) {})
		l.withoutNode()
		l.mail.putFor(l.mail.turn, do(func(gate.Time) { panic("a mistake") }))
		return
	}
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	child.Env = append(os.Environ(), "WHEELLOCK_PANIC=1")
	out, err := child.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "dispatcher.endProcess()") {
		t.Errorf("it ends with %v:\n%s", err, out)
	}
}

// Close waits for the answers that are on their way, for a while.
func TestTheEndWaitsForAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := loopOf(func(wheel.Tick) {})
		n := &node{nodes: &l.nodes}
		l.nodes.all = []*node{n}
		closing{}.deliver(l, 0)
		if !l.finished() {
			t.Error("it waits for nothing")
		}
		n.carrying = 1
		if time.Sleep(CloseTime - 1); l.finished() {
			t.Error("it does not wait for an answer")
		}
		if time.Sleep(time.Nanosecond); !l.finished() {
			t.Errorf("it waits for longer than %v", CloseTime)
		}
	})
}

// The end of the nodes is waited for. It cuts what is on its way.
func TestTheEndOfNodesIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := loopOf(func(wheel.Tick) {})
		cut := false
		l.nodes.all = []*node{{nodes: &l.nodes, cancel: func() {
			time.Sleep(time.Second)
			cut = true
		}}}
		if l.nodes.stop(); !cut {
			t.Error("it is not cut, or not waited for")
		}
	})
}
