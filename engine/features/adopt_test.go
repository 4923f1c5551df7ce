package features_test

import (
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

func TestAdoptTakesThePlaceOfARedissonClient(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	e := testkit.Connect(t, server.Addr())
	outsider := testkit.NewOutsider(t, server.Addr())
	server.MustDo("HSET", "stock:7", outsider.Owner, "2") // it has entered twice
	server.MustDo("PEXPIRE", "stock:7", "20000")
	state, err := e.Mutex("stock:7").Inspect(testkit.Soon(t))
	if err != nil || state.Owner != outsider.Owner {
		t.Fatalf("Inspect = %+v, %v", state, err)
	}
	h, err := e.Mutex("stock:7").Adopt(testkit.Soon(t), state.Owner, engine.WithLease(time.Minute))
	testkit.Must(t, err)
	state, err = e.Mutex("stock:7").Inspect(testkit.Soon(t))
	if err != nil || state.Count != 1 || state.Owner != h.TenureID() || state.TTL < 59*time.Second {
		t.Errorf("it is %+v, %v", state, err)
	}
	testkit.WantIs(t, "a second Adopt", testkit.ResultOf(e.Mutex("stock:7").Adopt(testkit.Soon(t), outsider.Owner)), engine.ErrLost)
	testkit.MustUnlock(t, h)
}
