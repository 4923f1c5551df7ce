package dispatcher

import (
	"testing"
	"time"

	"github.com/wheellock/wheellock/internal/gate"
	"github.com/wheellock/wheellock/wheel"
)

// asker is a caller that waits.
type asker struct {
	waiter gate.Waiter
	hold   gate.Hold
	heard  []gate.Outcome
}

func (a *asker) Settle(out gate.Outcome) bool { a.heard = append(a.heard, out); return true }

// The loop looks for what is due, takes its mail, and then gives up those whose time is over. The alarm of a tick that
// began after the first look is in that mail, perhaps with no further turn to come.
func TestAlarmOfATickThatBeganAfterTheLookOpensItsSlot(t *testing.T) {
	cfg := &gate.Config{Lease: 30 * time.Second, PollCap: 2 * time.Second, Stats: &gate.Stats{}}
	cfg.Waits = wheel.NewSlots[*gate.Waiter](64, nil)
	d := &Dispatcher{cfg: Config{Gate: cfg, MaxPerName: 1}, names: newNames()}
	d.slots, d.acks = wheel.NewSlots[*gate.Entry](64, nil), wheel.NewSlots[*Ack](64, nil)
	a := &asker{}
	a.waiter = gate.Waiter{By: a, Hold: &a.hold, Lease: 30 * time.Second, Watch: true, Until: 50 * time.Millisecond}

	(&ask{&a.waiter, "stock:7", gate.MutexKind}).deliver(d, 0)
	d.ringDue(49 * time.Millisecond)
	d.giveUpDue(49 * time.Millisecond)
	if len(a.heard) != 0 {
		t.Fatalf("before its time it heard %v", a.heard)
	}
	alarm{wheel.Ceil(50*time.Millisecond, Tick)}.deliver(d, 50*time.Millisecond)
	d.giveUpDue(50 * time.Millisecond)
	if len(a.heard) != 1 || a.heard[0].Why != gate.TimedOut {
		t.Errorf("after the alarm it heard %v, want a time-out", a.heard)
	}
}
