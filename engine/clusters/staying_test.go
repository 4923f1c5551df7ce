package clusters_test

import (
	"errors"
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
			if err != nil {
				t.Fatal(err)
			}
			slot := slotOf(name)
			move := c.BeginMove(slot, other(c, slot))
			for move.Keys(10) > 0 {
			}
			move.Finish()
			adopted, err := of(b, name).Adopt(testkit.Soon(t), id)
			if err != nil {
				t.Fatal(err)
			}
			if token, _ := adopted.Token(); fenced && token <= before {
				t.Errorf("the token %d follows %d", token, before)
			}
			if _, err := of(a, name).Adopt(testkit.Soon(t), id); !errors.Is(err, engine.ErrLost) {
				t.Errorf("a second Adopt: %v", err)
			}
			wanted := adopted.Wanted()
			waiter := of(a, name).LockAsync(testkit.Soon(t), engine.WithMinHold(time.Hour))
			if kind != "spin" {
				<-wanted
			}
			testkit.MustUnlock(t, adopted)
			last, err := waiter.Wait(testkit.Soon(t))
			if err != nil {
				t.Fatal(err)
			}
			testkit.MustUnlock(t, last)
			if s, err := of(b, name).Inspect(testkit.Soon(t)); err != nil || !s.OwnerID.Detached || s.TTL < 59*time.Minute {
				t.Errorf("after a min hold it is %+v, %v", s, err)
			}
		})
	}
}
