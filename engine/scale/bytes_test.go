package scale_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// A watched hold costs at most 400 bytes in all, its name of 24 bytes and the caller's pointer to it included: what
// the engine keeps in any case is there before, and nothing is renewed meanwhile.
func TestScaleOfBytes(t *testing.T) {
	measures(t)
	n := testkit.Times(t, 1_000_000, 100_000)
	e := testkit.Connect(t, redistest.Start(t).Addr(), func(o *engine.Options) { o.Lease, o.MaxRequests = time.Hour, 2*n })
	first := testkit.LockMany(t, e, "first", 20_000)
	before := readGauge()
	holds := testkit.LockMany(t, e, "ours", n)
	wantCheap(t, "holds", n, before, 400)
	runtime.KeepAlive(first)
	runtime.KeepAlive(holds)
}
