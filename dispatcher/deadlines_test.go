package dispatcher

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/atomic"

	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/wheel"
)

// asker is a caller that waits.
type asker struct {
	waiter gate.Waiter
	hold   gate.Hold
	heard  []gate.Outcome
}

func (a *asker) Settle(out gate.Outcome) bool { a.heard = append(a.heard, out); return true }

// A wake-up for a tick may come just before the tick begins, as from a wheel whose clock is ahead, and no other one
// follows. The loop's own timer opens the slot then.
func TestATickThatBeginsAfterItsWakeUpIsOpened(t *testing.T) {
	l := loopOf(func(wheel.Tick) {})
	a := &asker{}
	a.waiter = gate.Waiter{By: a, Hold: &a.hold, LeaseTime: 30 * time.Second, Watch: true, Until: 50 * time.Millisecond}

	(&ask{&a.waiter, "stock:7", gate.MutexKind, 1}).deliver(l, 0)
	l.deadlines.wakeDue(49 * time.Millisecond)
	l.deadlines.giveUpDue(49 * time.Millisecond)
	if len(a.heard) != 0 {
		t.Fatalf("before its time it heard %v", a.heard)
	}
	at := l.deadlines.nextLook(49 * time.Millisecond)
	if at > 50*time.Millisecond+wheel.Grace {
		t.Fatalf("the loop looks at %v", at)
	}
	l.deadlines.giveUpDue(at)
	if len(a.heard) != 1 || a.heard[0].Why != gate.TimedOut {
		t.Errorf("after the look it heard %v, want a time-out", a.heard)
	}
}

// loopOf returns a loop that does not run, without Redis, whose slots ask wakeAt.
func loopOf(wakeAt func(wheel.Tick)) *loop {
	cfg := &gate.Config{LeaseTime: 30 * time.Second, PollCap: 2 * time.Second, Stats: &gate.Stats{}}
	l := newLoop(Config{Gate: cfg, Clock: wheel.NewClock(), Logger: slog.New(slog.DiscardHandler)})
	l.deadlines.wakeAt = wakeAt
	return l
}

// turn runs a loop whose one node is down.
func (l *loop) turn(t *testing.T) {
	l.withoutNode()
	t.Cleanup(l.start().Close)
}

// withoutNode has a loop that does not run be ready for turns, with one node that is down.
func (l *loop) withoutNode() {
	n := &node{nodes: &l.nodes, cancel: func() {}, link: link{state: linkDown, probeAt: gate.Never}}
	n.out.commands = &l.gates.fx.Commands
	l.nodes.all = []*node{n}
	l.deadlines.waker = wheel.NewWaker(l.cfg.Clock, Tick, l.mail.wakeUp)
	if l.deadlines.timer.timer == nil {
		l.deadlines.timer.start(l.mail.wakeUp)
	}
}

// dozer is a machine that is to be woken at some times, one after the other.
type dozer struct {
	gate.Machine
	alarms []gate.Time
	woken  []gate.Time
}

func (d *dozer) Wake(now gate.Time, _ *gate.Effects) {
	d.woken = append(d.woken, now)
	d.alarms = d.alarms[1:]
}

func (d *dozer) NextAlarm() gate.Time {
	if len(d.alarms) == 0 {
		return gate.Never
	}
	return d.alarms[0]
}

func (d *dozer) Idle() bool { return false }

// do is an event that runs a function on the loop.
type do func(now gate.Time)

func (d do) deliver(_ *loop, now gate.Time) { d(now) }

// No fault of the timing wheel delays the alarm of a machine, nor an answer in Redis's place by more than a tick and
// wheel.Grace: a wheel is a hint, and the loop's own timer wakes it, too.
func TestFaultsOfTheWheelDelayNothing(t *testing.T) {
	after := func(delay time.Duration) func(l *loop, at wheel.Tick) {
		return func(l *loop, at wheel.Tick) {
			time.AfterFunc(at.Begin(Tick)-l.cfg.Clock.Now()+delay, l.mail.wakeUp)
		}
	}
	for name, wakeAt := range map[string]func(l *loop, at wheel.Tick){
		"a wheel that is well":             func(l *loop, at wheel.Tick) { l.deadlines.waker.Set(at) },
		"a wheel that never fires":         func(*loop, wheel.Tick) {},
		"a wheel that fires a minute late": after(time.Minute),
		"a wheel that fires early":         after(-8 * time.Millisecond),
		"a wheel that fires at once":       func(l *loop, _ wheel.Tick) { l.mail.wakeUp() },
		"a wheel that fires twice":         func(l *loop, at wheel.Tick) { after(0)(l, at); after(5*time.Millisecond)(l, at) },
		"a wheel that loses every other one": func(l *loop, at wheel.Tick) {
			if at%2 == 0 {
				after(0)(l, at)
			}
		},
		"a wheel that stops after 10s": func(l *loop, at wheel.Tick) {
			if l.cfg.Clock.Now() < 10*time.Second {
				after(0)(l, at)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var l *loop
				l = loopOf(func(at wheel.Tick) { wakeAt(l, at) })
				l.turn(t)
				alarms := []gate.Time{
					time.Millisecond, 29 * time.Millisecond, 31 * time.Millisecond, 555 * time.Millisecond, 1234 * time.Millisecond,
					9999 * time.Millisecond, 20 * time.Second, 41 * time.Second, time.Minute, 20 * time.Minute,
				}
				m := &dozer{alarms: alarms}
				e := gate.NewEntry("stock:7", gate.MutexKind, l.cfg.Gate)
				e.Machine = m
				l.mail.put(do(func(gate.Time) { l.gates.stepped(e) }))
				var answered gate.Time
				ack := &Ack{Within: 3 * time.Second, By: settler(func() { answered = l.cfg.Clock.Now() })}
				l.mail.put(do(func(now gate.Time) { l.acks.await(now, ack, func() {}) }))
				time.Sleep(21 * time.Minute)
				synctest.Wait()
				if len(m.woken) != len(alarms) {
					t.Fatalf("woken %d times, at %v; want %d", len(m.woken), m.woken, len(alarms))
				}
				for i, at := range alarms {
					if late := m.woken[i] - at; late < 0 || late > time.Millisecond {
						t.Errorf("the alarm of %v comes at %v", at, m.woken[i])
					}
				}
				if late := answered - 3*time.Second; late < 0 || late > Tick+wheel.Grace {
					t.Errorf("the answer in Redis's place comes at %v, want it 3s after the beginning", answered)
				}
			})
		})
	}
}

// The loop looks for itself at a slot that it has found empty, and that got an entry after that: it has counted on the wheel, which may have
// failed, and the wait ended up to a second late, or when anything else came.
func TestASlotThatIsFilledAgainIsLookedAt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := loopOf(func(wheel.Tick) {})
		l.turn(t)
		var answered gate.Time
		at := l.cfg.Clock.Now() + 3*time.Second
		await := func() (settle func(gate.Outcome) bool) {
			ack := &Ack{By: settler(func() { answered = l.cfg.Clock.Now() })}
			l.mail.put(do(func(now gate.Time) {
				ack.Within = at - now
				l.acks.await(now, ack, func() {})
			}))
			return ack.Settle
		}
		settle := await()
		l.mail.put(do(func(gate.Time) { settle(gate.Outcome{}) }))
		time.Sleep(3 * lookEvery / 2) // a look finds nothing
		await()
		time.Sleep(time.Minute)
		synctest.Wait()
		if late := answered - at; late < 0 || late > Tick+wheel.Grace {
			t.Errorf("the answer in Redis's place comes %v late", late)
		}
	})
}

type settler func()

func (s settler) Settle(gate.Outcome) bool { s(); return true }

// While anything is due later the loop looks once a second, and while nothing is it sleeps.
func TestTheLoopLooksForSuspensionWhileAnythingIsDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := loopOf(func(wheel.Tick) {})
		var looks atomic.Int32
		l.deadlines.timer.start(func() {
			looks.Inc()
			l.mail.wakeUp()
		})
		l.turn(t)
		m := &dozer{alarms: []gate.Time{time.Minute}}
		e := gate.NewEntry("stock:7", gate.MutexKind, l.cfg.Gate)
		e.Machine = m
		l.mail.put(do(func(gate.Time) { l.gates.stepped(e) }))
		time.Sleep(30*time.Second + lookEvery/2)
		synctest.Wait()
		if n := looks.Load(); n < 30 {
			t.Errorf("the loop has looked %d times in 30s", n)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if n := looks.Load(); n > 70 {
			t.Errorf("the loop has looked %d times, although for an hour nothing was due", n)
		}
	})
}

// A timer that is set for an earlier time is left alone, and one that has fired is set again.
func TestAimLeavesAnEarlierTimerAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n loopTimer
		fired := 0
		n.start(func() { fired++ })
		n.setTimer(0, 100*time.Millisecond)
		n.setTimer(0, 200*time.Millisecond)
		if n.set != 100*time.Millisecond {
			t.Errorf("set for %v, want 100ms", n.set)
		}
		n.setTimer(0, 50*time.Millisecond)
		time.Sleep(60 * time.Millisecond)
		synctest.Wait()
		if fired != 1 {
			t.Errorf("fired %d times, want once at 50ms", fired)
		}
		n.setTimer(60*time.Millisecond, 50*time.Millisecond) // overdue
		time.Sleep(minSleep)
		synctest.Wait()
		if fired != 2 {
			t.Errorf("fired %d times, want twice", fired)
		}
	})
}

// Whoever waits for an answer for a time hears one answer: Redis's, or, when that time is over, none; never both.
// invariant: answered-once
func TestAnAckIsSettledOnce(t *testing.T) {
	newAcks := func() *acks { return &acks{slots: wheel.NewSlots[*Ack](64, nil)} }
	t.Run("by its answer", func(t *testing.T) {
		as, a := newAcks(), &asker{}
		ack := &Ack{By: a, Within: time.Second}
		as.await(0, ack, func() {})
		ack.Settle(gate.Outcome{})
		as.giveUp(wheel.Floor(2*time.Second, Tick))
		if len(a.heard) != 1 || a.heard[0].Why != gate.Granted || ack.Overdue() {
			t.Errorf("it heard %v, overdue %v", a.heard, ack.Overdue())
		}
	})
	t.Run("by its answer at once, after which nothing of it is kept", func(t *testing.T) {
		as, a := newAcks(), &asker{}
		ack := &Ack{By: a, Within: time.Second}
		as.await(0, ack, func() { ack.Settle(gate.Outcome{}) })
		if ack.place.In() {
			t.Error("the ack has a place in the slots, and is its caller's again")
		}
		as.giveUp(wheel.Floor(2*time.Second, Tick))
		if len(a.heard) != 1 || ack.Overdue() {
			t.Errorf("it heard %v, overdue %v", a.heard, ack.Overdue())
		}
	})
	t.Run("by time", func(t *testing.T) {
		as, a := newAcks(), &asker{}
		ack := &Ack{By: a, Within: time.Second}
		as.await(0, ack, func() {})
		as.giveUp(wheel.Floor(time.Second-1, Tick))
		if len(a.heard) != 0 {
			t.Fatalf("before its time it heard %v", a.heard)
		}
		as.giveUp(wheel.Floor(time.Second, Tick))
		if ack.Settle(gate.Outcome{}) {
			t.Error("the late answer was taken")
		}
		if len(a.heard) != 1 || a.heard[0].Why != gate.Doubtful || !ack.Overdue() {
			t.Errorf("it heard %v, overdue %v", a.heard, ack.Overdue())
		}
	})
	t.Run("without a bound, by its answer alone", func(t *testing.T) {
		as, a := newAcks(), &asker{}
		ack := &Ack{By: a}
		as.await(0, ack, func() {})
		as.await(0, a, func() {})
		as.await(0, nil, func() {})
		as.giveUp(wheel.Floor(gate.Centuries, Tick))
		if len(a.heard) != 0 || ack.place.In() {
			t.Errorf("it heard %v", a.heard)
		}
	})
}
