package dispatcher

import (
	"testing"
	"time"

	"github.com/wheellock/wheellock/dispatcher/gate"
)

// TestYieldHasAPrice: a yield is not repeated where it takes long and brings little, as in a process that
// is short of processors, nor while a deadline is near.
func TestYieldHasAPrice(t *testing.T) {
	c := &turnYield{}
	shown := func(now, alarm gate.Time) bool {
		return c.yield(now, alarm, func() gate.Time { return now + 1 }) == now+1
	}
	now := time.Second
	if !shown(now, gate.Never) {
		t.Fatal("the first was not shown")
	}
	c.learn(now+time.Millisecond, 100) // 10 µs for each
	if now += time.Millisecond; !shown(now, gate.Never) {
		t.Error("one that had paid was not repeated")
	}
	if shown(now, now+time.Millisecond) {
		t.Error("one was shown with an alarm to come in a millisecond")
	}
	if c.learn(now+time.Second, 0); !shown(now, gate.Never) {
		t.Error("one that was not shown was judged")
	}
	c.learn(now+10*time.Millisecond, 3)
	if now += 10 * time.Millisecond; shown(now+yieldRest*9*time.Millisecond, gate.Never) {
		t.Error("one that had cost 10 ms was repeated within a second")
	}
	if !shown(now+yieldRest*11*time.Millisecond, gate.Never) {
		t.Error("one that had cost 10 ms was not repeated after a second")
	}
}
