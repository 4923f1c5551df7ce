package dispatcher

import (
	"slices"
	"testing"
	"time"

	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/wheel"
)

// A request that a kind does not know is answered as one for a name of another kind, and leaves no name behind.
func TestARequestOfAnotherKindIsRefused(t *testing.T) {
	for name, request := range map[string]func(d *Dispatcher, ack gate.Settler){
		"force on a latch":  func(d *Dispatcher, ack gate.Settler) { d.Force("n", gate.LatchKind, "java:1", 0, ack) },
		"force on permits":  func(d *Dispatcher, ack gate.Settler) { d.Force("n", gate.PermitKind, "java:1", 0, ack) },
		"change of a mutex": func(d *Dispatcher, ack gate.Settler) { d.Change("n", gate.MutexKind, gate.Change{Op: gate.Give}, ack) },
	} {
		t.Run(name, func(t *testing.T) {
			l, a := newLoop(Config{Gate: &gate.Config{Stats: &gate.Stats{}}}), &asker{}
			request(&Dispatcher{mail: l.mail}, a)
			l.mail.queue.events[0].deliver(l, 0)
			if len(a.heard) != 1 || a.heard[0].Why != gate.OtherKind {
				t.Errorf("it heard %v, want OtherKind", a.heard)
			}
			if len(l.gates.changed) != 1 || !l.gates.changed[0].Machine.Idle() {
				t.Errorf("%d names were stepped, want one that is idle", len(l.gates.changed))
			}
		})
	}
}

// granter answers whoever asks, at once.
type granter struct {
	gate.Machine
	cfg *gate.Config
}

func (g *granter) Ask(_ gate.Time, w *gate.Waiter, _ *gate.Effects) { g.cfg.Answer(w, gate.Outcome{}) }

// A waiter that is answered while it asks is its caller's again: its time must not be noted after that, or it would run out for
// whatever the caller uses the waiter for next.
// invariant: answered-once
func TestTheTimeOfAWaiterThatIsAnsweredAtOnceIsForgotten(t *testing.T) {
	l := loopOf(func(wheel.Tick) {})
	w := &gate.Waiter{By: &asker{}, Until: time.Second}
	e, _ := l.gates.entry("stock:7", gate.MutexKind)
	e.Machine = &granter{e.Machine, l.cfg.Gate}
	(&ask{w, "stock:7", gate.MutexKind, 1}).deliver(l, 0)
	if w.Timer.In() {
		t.Error("the waiter has a time")
	}
}

// Permits that a caller got in vain are given back also while the engine closes: a program that ends cancels its calls, and closes.
// invariant: answered-once
func TestPermitsInVainAreGivenBackWhileTheEngineCloses(t *testing.T) {
	l := loopOf(func(wheel.Tick) {})
	closing{}.deliver(l, 0)
	d := &Dispatcher{mail: l.mail}
	d.Change("jobs", gate.SemaphoreKind, gate.ChangeCount(gate.Give, 3), gate.InVain)
	l.mail.queue.events[0].deliver(l, 0)
	if given := l.gates.fx.Commands[gate.Give]; len(given) != 1 || given[0].Args.Count().N != 3 {
		t.Errorf("%d are asked to be given back, want one, of 3 permits", len(given))
	}
}

// Who waits for an answer of a dispatcher that ends gets one.
// invariant: answered-once
func TestWhatIsLeftIsRefused(t *testing.T) {
	a, drained := &asker{}, make(chan struct{})
	oldest, down := oldestQuery{"", make(chan gate.Time, 1)}, linkQuery{0, make(chan bool, 1)}
	for _, left := range []refusable{
		&ask{waiter: &gate.Waiter{By: a}}, &unlock{ack: a}, &extend{nameRequest: nameRequest{ack: a}}, &unlock{}, oldest, down, drain{drained},
	} {
		left.refuse()
	}
	if len(a.heard) != 3 || slices.ContainsFunc(a.heard, func(out gate.Outcome) bool { return out.Why != gate.Closed }) {
		t.Errorf("told %+v, want Closed for each of three", a.heard)
	}
	if len(oldest.answer) != 1 || <-oldest.answer != gate.Never || len(down.down) != 1 || <-down.down {
		t.Error("a question has another answer than that there is nothing")
	}
	<-drained
}

// Where a node has lost its keys, or may have, the names that it serves are looked at, and no others.
func TestTheNamesOfANodeAreSuspected(t *testing.T) {
	l, n := clustered(t)
	l.gates.hashed = true
	there, _ := l.gates.entry("stock:7", gate.MutexKind)
	elsewhere, _ := l.gates.entry("stock:8", gate.MutexKind)
	l.nodes.cluster.slots.Assign(there.Slot, n)
	(&Dispatcher{mail: l.mail}).SuspectNode(n.addr)
	l.mail.queue.events[0].deliver(l, 0)
	if !there.Stepped || elsewhere.Stepped {
		t.Errorf("looked at: %t, and %t at another node", there.Stepped, elsewhere.Stepped)
	}
}

// aged has a hold since a time.
type aged struct {
	gate.Machine
	since gate.Time
}

func (a *aged) Oldest() gate.Time { return a.since }

func TestTheOldestHoldOfANameAndOfAll(t *testing.T) {
	l := newLoop(Config{Gate: &gate.Config{Stats: &gate.Stats{}}})
	for name, since := range map[string]gate.Time{"old": time.Second, "new": time.Minute, "free": gate.Never} {
		e, _ := l.gates.entry(name, gate.MutexKind)
		e.Machine = &aged{e.Machine, since}
	}
	for name, want := range map[string]gate.Time{"": time.Second, "old": time.Second, "new": time.Minute, "free": gate.Never, "unknown": gate.Never} {
		q := oldestQuery{name, make(chan gate.Time, 1)}
		if q.deliver(l, 0); <-q.answer != want {
			t.Errorf("of %q it is not %v", name, want)
		}
	}
}
