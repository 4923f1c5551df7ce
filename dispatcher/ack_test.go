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
	newLoop := func() *Dispatcher {
		return &Dispatcher{
			cfg:  Config{Gate: &gate.Config{Waits: wheel.NewSlots[*gate.Waiter](64, nil)}},
			acks: wheel.NewSlots[*Ack](64, nil),
		}
	}
	t.Run("by its answer", func(t *testing.T) {
		d, a := newLoop(), &asker{}
		ack := &Ack{By: a, Within: time.Second}
		d.acknowledged(0, ack, func() {})
		ack.Settle(gate.Outcome{})
		d.giveUpDue(2 * time.Second)
		if len(a.heard) != 1 || a.heard[0].Why != gate.Granted || ack.Overdue() {
			t.Errorf("it heard %v, overdue %v", a.heard, ack.Overdue())
		}
	})
	t.Run("by time", func(t *testing.T) {
		d, a := newLoop(), &asker{}
		ack := &Ack{By: a, Within: time.Second}
		d.acknowledged(0, ack, func() {})
		d.giveUpDue(time.Second - 1)
		if len(a.heard) != 0 {
			t.Fatalf("before its time it heard %v", a.heard)
		}
		d.giveUpDue(time.Second)
		if ack.Settle(gate.Outcome{}) {
			t.Error("the late answer was taken")
		}
		if len(a.heard) != 1 || a.heard[0].Why != gate.Doubtful || !ack.Overdue() {
			t.Errorf("it heard %v, overdue %v", a.heard, ack.Overdue())
		}
	})
	t.Run("without a bound, by its answer alone", func(t *testing.T) {
		d, a := newLoop(), &asker{}
		ack := &Ack{By: a}
		d.acknowledged(0, ack, func() {})
		d.acknowledged(0, a, func() {})
		d.acknowledged(0, nil, func() {})
		d.giveUpDue(gate.Centuries)
		if len(a.heard) != 0 || d.acks.Len() != 0 {
			t.Errorf("it heard %v", a.heard)
		}
	})
}
