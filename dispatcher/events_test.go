package dispatcher

import (
	"testing"
	"time"

	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/wheel"
)

// A request that a kind does not know is answered as one for a name of another kind, and leaves no name behind.
func TestARequestOfAnotherKindIsRefused(t *testing.T) {
	for name, request := range map[string]func(ack gate.Settler) event{
		"force on a latch": func(ack gate.Settler) event {
			return &force{name: "n", kind: gate.LatchKind, owner: "java:1", ack: ack}
		},
		"force on permits": func(ack gate.Settler) event {
			return &force{name: "n", kind: gate.PermitKind, owner: "java:1", ack: ack}
		},
		"change of a mutex": func(ack gate.Settler) event {
			return &change{"n", gate.MutexKind, gate.Change{Op: gate.Give, Ack: ack}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			l, a := newLoop(Config{Gate: &gate.Config{Stats: &gate.Stats{}}}), &asker{}
			request(a).deliver(l, 0)
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

func (m *granter) Ask(_ gate.Time, w *gate.Waiter, _ *gate.Effects) { m.cfg.Answer(w, gate.Outcome{}) }

// A waiter that is answered while it asks is its caller's again: its time must not be noted after that, or it would run out for
// whatever the caller uses the waiter for next.
// invariant: answered-once
func TestTheTimeOfAWaiterThatIsAnsweredAtOnceIsForgotten(t *testing.T) {
	l := loopOf(func(wheel.Tick) {})
	w := &gate.Waiter{By: &asker{}, Until: time.Second}
	c, _ := l.gates.entry("stock:7", gate.MutexKind)
	c.Machine = &granter{c.Machine, l.cfg.Gate}
	(&ask{w, "stock:7", gate.MutexKind}).deliver(l, 0)
	if w.Timer.In() {
		t.Error("the waiter has a time")
	}
}
