package dispatcher

import (
	"testing"

	"github.com/wheellock/wheellock/internal/gate"
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
