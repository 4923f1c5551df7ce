package engine

import (
	"testing"

	"github.com/wheellock/wheellock/dispatcher/gate"
)

// Without an Observer a request costs neither memory nor a reading of the clock, which would panic here.
func TestWithoutAnObserverNothingIsPaid(t *testing.T) {
	h := handle{e: &Engine{}, name: "stock:7"}
	w := gate.Waiter{}
	opts := []LockOption{WithWait(1)}
	if got := testing.AllocsPerRun(100, func() {
		o := h.observe(opts)
		o.asked(&w)
		o.notifyDone(nil, nil)
	}); got != 0 {
		t.Errorf("%v allocations, want 0", got)
	}
}
