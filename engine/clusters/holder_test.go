package clusters_test

import (
	"testing"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

func TestClusterTellsWhoIsBehindAnOwnerID(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, 0)
	ours := testkit.Join(t, c)
	theirs := testkit.Join(t, c, func(o *engine.Options) { o.Identity = "gateway@eu-1:7" })
	for _, name := range testkit.Spread("held", 6) {
		h := testkit.MustLock(t, theirs.FairMutex(name))
		state, err := ours.Mutex(name).Inspect(testkit.Soon(t))
		if err != nil || state.OwnerID.Client != theirs.ID() {
			t.Fatalf("Inspect = %+v, %v", state, err)
		}
		who, err := ours.Holder(testkit.Soon(t), state.Owner)
		if err != nil || who.Identity != "gateway@eu-1:7" || who.Address == "" {
			t.Errorf("Holder = %+v, %v", who, err)
		}
		testkit.MustUnlock(t, h)
	}
	who, err := ours.Holder(testkit.Soon(t), "0b7d4c7e-0000-4000-8000-00000000feed:1")
	if err != nil || who.Connections != 0 {
		t.Errorf("Holder of nobody = %+v, %v", who, err)
	}
}
