package faults_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/internal/virtual"
	"github.com/wheellock/wheellock/scripts"
)

// Readers and writers of one name beside each other, also those who go on reading when they have ceased to write: whatever answer is
// lost, whenever calls are cancelled and subscriptions killed, a writer is alone, and nothing is left. Nobody polls.
// invariant: readers-share-one-tenure
func TestFaultRWUnderEveryFault(t *testing.T) {
	t.Parallel()
	lost := &whoLost{times: make(map[string]int)}
	of := []scripts.Script{scripts.AcquireRead, scripts.AcquireWrite, scripts.ReleaseRead, scripts.ReleaseWrite, scripts.Downgrade, scripts.RenewRead}
	play := func(w *virtual.World, random *rand.Rand) {
		c := &chance{r: random}
		change := []func(*engine.Options){testkit.Lease(time.Hour), testkit.OnlyMessages, func(o *engine.Options) { o.HandoffTime = time.Millisecond }}
		e, l := w.Connect(change...)
		other, _ := w.Connect(change...)
		contest := &testkit.RwContest{T: w.T, Engines: []*engine.Engine{e, e, e, other}, Cancel: c.below(2) == 0}
		lost.oneIn(2+c.below(6), c, &l.Down)
		kills := c.below(2) == 0
		until := time.Now().Add(1500 * time.Millisecond)
		contest.Run(8, func() bool {
			if kills && c.below(20) == 0 {
				w.Server.KillListeners()
			}
			time.Sleep(time.Duration(c.below(int(10 * time.Millisecond))))
			return time.Now().After(until)
		})
		l.Down.Swallow(0, nil)
		w.T.Logf("%d grants", contest.Grants.Load())
		w.Quiet(e, 0)
	}
	virtual.Seeds(t, testkit.Times(t, 400, 8), play)
	for seed := uint64(1000); !lost.all(of) && seed < 1030 && !t.Failed(); seed++ { // few seeds may spare one of them
		virtual.Test(t, func(w *virtual.World) { play(w, rand.New(rand.NewPCG(seed, seed))) })
	}
	lost.require(t, of...)
}
