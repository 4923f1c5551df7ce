package clusters_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/scripts"
)

// Each reader has a key of its own, and who leaves looks at those of the others: when none lives, the lock is free.
// While the hash slot is on its way, the keys of living readers may be on the other node. Nobody is let in beside them.
// invariant: command-follows-its-slot
func TestClusterReaderLeavesASlotOnItsWay(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, 0)
	a, b, third := testkit.Join(t, c), testkit.Join(t, c), testkit.Join(t, c)
	for _, s := range []struct {
		where string
		moved func(name, leaves, stays string) []string // the keys that have arrived when the reader leaves
	}{
		{"arrived but for the others", func(name, leaves, _ string) []string { return []string{name, leaves} }},
		{"at home but for the others", func(_, _, stays string) []string { return []string{stays} }},
	} {
		t.Run(s.where, func(t *testing.T) {
			name := "read:" + s.where
			leaves, stays := testkit.MustLock(t, a.RWMutex(name).Reader()), testkit.MustLock(t, b.RWMutex(name).Reader())
			slot := slotOf(name)
			move := c.BeginMove(slot, other(c, slot))
			move.Carry(s.moved(name, scripts.HoldKey(name, leaves.TenureID()), scripts.HoldKey(name, stays.TenureID()))...)
			testkit.MustUnlock(t, leaves)
			if _, err := third.RWMutex(name).Writer().TryLock(testkit.Soon(t)); !errors.Is(err, engine.ErrHeld) {
				t.Errorf("TryLock of a writer beside a reader = %v, want ErrHeld", err)
			}
			for move.Keys(10) > 0 {
			}
			move.Finish()
			testkit.MustUnlock(t, stays)
			testkit.MustUnlock(t, testkit.MustLock(t, third.RWMutex(name).Writer()))
		})
	}
}

// A reader's keys are apart for a moment while its slot moves. A renewal waits until they are together: a key that it made
// anew at one node would keep the other node's from being carried there.
func TestClusterReaderIsRenewedWhenItsKeysAreTogether(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, 0)
	e := testkit.Join(t, c, testkit.Lease(6*time.Second))
	name := "read"
	held := testkit.MustLock(t, e.RWMutex(name).Reader())
	slot := slotOf(name)
	move := c.BeginMove(slot, other(c, slot))
	move.Carry(name)
	redistest.Await(t, "a renewal that is told to wait", func() bool {
		return strings.Contains(move.From.MustDo("INFO", "errorstats").Text, "TRYAGAIN")
	})
	move.Carry(scripts.HoldKey(name, held.TenureID()))
	move.Finish()
	deadline := held.Deadline()
	redistest.Await(t, "a renewal after the move", func() bool { return held.Deadline().After(deadline) })
	testkit.MustUnlock(t, held)
}
