package clusters_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/scripts"
)

// A QuorumLock waits in the line of a cluster while another node of that is down.
func TestClusterKeepsTheLineOfAQuorumWhileAnotherNodeIsDown(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, 0)
	for _, node := range c.Nodes {
		node.MustDo("CONFIG", "SET", "cluster-require-full-coverage", "no")
	}
	holder, waiter := testkit.Join(t, c), testkit.Join(t, c)
	names := testkit.Spread("quorum", 9)
	server, other := c.NodeOf(c.Slot(names[0])), c.Nodes[0]
	if server == other {
		other = c.Nodes[1]
	}
	i := slices.IndexFunc(names, func(name string) bool { return c.NodeOf(c.Slot(name)) == other })
	held := testkit.MustLock(t, holder.Mutex(names[0]))
	lock, err := engine.Quorum(names[0], waiter)
	testkit.Must(t, err)
	ctx, stop := context.WithCancel(testkit.Soon(t))
	defer stop()
	waits := lock.LockAsync(ctx)
	line := func() (places []string) {
		for _, place := range server.Do("ZRANGE", scripts.LineKey(names[0]), "0", "-1").Items {
			places = append(places, place.Text)
		}
		return places
	}
	redistest.Await(t, "place in line", func() bool { return len(line()) == 1 })
	place := line()[0]
	other.Kill()
	redistest.Await(t, "engine that knows it", func() bool {
		waiter.Mutex(names[i]).TryLock(ctx)
		return !waiter.Stats().Up
	})
	for began := time.Now(); time.Since(began) < 2500*time.Millisecond; time.Sleep(20 * time.Millisecond) { // sleeps: the call looks once in a second
		if now := line(); len(now) != 1 || now[0] != place {
			t.Fatalf("after %v the line is %q, and was %q", time.Since(began), now, place)
		}
	}
	testkit.MustUnlock(t, held)
	h, err := waits.Wait(ctx)
	testkit.Must(t, err)
	testkit.MustUnlock(t, h)
}
