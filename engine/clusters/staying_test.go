package clusters_test

import (
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// invariant: detached-name-stays
func TestClusterNamesStayTaken(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, 0)
	a, b := testkit.Join(t, c), testkit.Join(t, c)
	node := 0 // each kind begins on another one
	for kind, of := range map[string]func(*engine.Engine, string) *engine.Mutex{
		"mutex": (*engine.Engine).Mutex, "fenced": (*engine.Engine).FencedMutex, "spin": (*engine.Engine).SpinMutex, "fair": (*engine.Engine).FairMutex,
	} {
		t.Run(kind, func(t *testing.T) {
			name := testkit.Spread(kind, 3)[node%3]
			node++
			h := testkit.MustLock(t, of(a, name))
			before, fenced := h.Token()
			id, err := h.Detach(testkit.Soon(t), time.Hour)
			testkit.Must(t, err)
			slot := slotOf(name)
			move := c.BeginMove(slot, other(c, slot))
			for move.Keys(10) > 0 {
			}
			move.Finish()
			adopted, err := of(b, name).Adopt(testkit.Soon(t), id)
			testkit.Must(t, err)
			if token, _ := adopted.Token(); fenced && token <= before {
				t.Errorf("the token %d follows %d", token, before)
			}
			testkit.WantIs(t, "a second Adopt", testkit.ResultOf(of(a, name).Adopt(testkit.Soon(t), id)), engine.ErrLost)
			wanted := adopted.Wanted()
			waiter := of(a, name).LockAsync(testkit.Soon(t), engine.WithMinHold(time.Hour))
			if kind != "spin" {
				<-wanted
			}
			testkit.MustUnlock(t, adopted)
			testkit.MustUnlock(t, testkit.MustWait(t, waiter))
			if s, err := of(b, name).Inspect(testkit.Soon(t)); err != nil || !s.OwnerID.Detached || s.TTL < 59*time.Minute {
				t.Errorf("after a min hold it is %+v, %v", s, err)
			}
		})
	}
}
