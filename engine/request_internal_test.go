package engine

import (
	"testing"

	"github.com/wheellock/wheellock/dispatcher/gate"
)

// The loop hears that nothing was handed over, so that the grant goes to the next caller or back.
// invariant: answered-once
func TestACancelledFutureIsHandedNothing(t *testing.T) {
	r := &request[*Hold]{}
	r.promise.Init(nil, nil)
	r.promise.Future().Cancel()
	if r.Settle(gate.Outcome{}) {
		t.Error("a grant was handed over to a future that was cancelled")
	}
}
