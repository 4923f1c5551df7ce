package dispatcher

import (
	"testing"
	"time"

	"github.com/wheellock/wheellock/internal/gate"
	"github.com/wheellock/wheellock/wheel"
)

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
		if len(a.heard) != 0 || as.slots.Len() != 0 {
			t.Errorf("it heard %v", a.heard)
		}
	})
}
