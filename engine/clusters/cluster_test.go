package clusters_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// The cluster_*_test.go files run the engine on a real Redis Cluster, and move, kill and cut off what it stands on.

func TestClusterTakesEveryKind(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, 0)
	for _, pubsub := range []engine.PubSub{engine.PubSubAuto, engine.PubSubPlain, engine.PubSubBoth} {
		t.Run(pubsub.String(), func(t *testing.T) {
			talk := func(o *engine.Options) { o.PubSub, o.PollCap = pubsub, time.Hour }
			a, b := testkit.Join(t, c, talk), testkit.Join(t, c, talk)
			var wg sync.WaitGroup
			for _, name := range testkit.Spread(pubsub.String(), 9) { // with an hour to the next question, only a message wakes
				wg.Go(func() { testkit.EveryKind(t, a, b, name) })
			}
			wg.Wait()
		})
	}
	t.Run("in RESP2", func(t *testing.T) {
		resp2 := func(o *engine.Options) { o.Redis.AlwaysRESP2 = true; testkit.OnlyMessages(o) }
		a, b := testkit.Join(t, c, resp2), testkit.Join(t, c, resp2)
		for _, name := range testkit.Spread("resp2", 3) {
			testkit.EveryKind(t, a, b, name)
		}
	})
	t.Run("with a note beside the lock", func(t *testing.T) {
		a, b := testkit.Join(t, c), testkit.Join(t, c)
		for _, name := range append(testkit.Spread("note", 3), "{order}:8") {
			h := testkit.MustLock(t, a.Mutex(name), engine.WithNote("for "+name))
			if state, err := b.Mutex(name).Inspect(testkit.Soon(t)); err != nil || state.Note != "for "+name {
				t.Errorf("Inspect(%q) = %+v, %v", name, state, err)
			}
			testkit.MustUnlock(t, h)
		}
	})
	t.Run("under a hash tag", func(t *testing.T) {
		a, b := testkit.Join(t, c), testkit.Join(t, c)
		for _, l := range testkit.Lockers(a, "{order}:7") {
			testkit.MustUnlock(t, testkit.MustLock(t, l))
		}
		testkit.HandOver(t, testkit.Lockers(a, "{order}:7"), testkit.Lockers(b, "{order}:7"))
	})
}

// A name whose keys cannot share a hash slot is refused before anything is sent, and by name.
func TestClusterRefusesNamesThatSpanSlots(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, 0)
	e := testkit.Join(t, c)
	for _, name := range []string{"a{", "{}x", "a{}b", "}{", "a}b"} {
		_, err := e.Mutex(name).Lock(testkit.Soon(t))
		testkit.Mentions(t, err, name)
		if !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("Lock(%q) = %v, want ErrInvalid", name, err)
		}
		if _, err := e.FairMutex(name).TryLockAsync(testkit.Soon(t)).Wait(testkit.Soon(t)); !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("TryLockAsync(%q) = %v, want ErrInvalid", name, err)
		}
		if _, err := e.Mutex(name).Inspect(testkit.Soon(t)); !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("Inspect(%q) = %v, want ErrInvalid", name, err)
		}
	}
	testkit.WantIs(t, "Wait of a latch with a hash tag", e.CountDownLatch("{order}:7").Wait(testkit.Soon(t)), engine.ErrInvalid)
	testkit.MustUnlock(t, testkit.MustLock(t, e.Mutex("{order}:7")))
}

func TestClusterCountsAsOneServerInAQuorum(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, 0)
	a, b := testkit.Join(t, c), testkit.Connect(t, c.Nodes[1].Addr())
	testkit.WantIs(t, "Quorum of two engines on one cluster", testkit.ResultOf(engine.Quorum("stock", a, b)), engine.ErrInvalid)
}

// A cluster node is a single server to who says so.
func TestForcedSingleClientSeesNoCluster(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--cluster-enabled", "yes")
	server.MustDo("CLUSTER", "ADDSLOTSRANGE", "0", "16383")
	redistest.Await(t, "cluster_state:ok", func() bool { return server.Do("SET", "x", "1").Err() == nil })
	e := testkit.Connect(t, server.Addr(), func(o *engine.Options) {
		o.Redis = rueidis.ClientOption{InitAddress: []string{server.Addr()}, ForceSingleClient: true}
	})
	testkit.MustUnlock(t, testkit.MustLock(t, e.Mutex("a{}b")))
}
