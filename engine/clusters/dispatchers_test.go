package clusters_test

import (
	"strings"
	"testing"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// A dispatcher is connected to those masters alone that serve a hash slot of its share: two dispatchers and two masters have as
// many connections as one dispatcher.
func TestClusterDispatchersConnectToWhatTheyServe(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 2, 0)
	connections := func(n int) (most int) {
		e := testkit.Join(t, c, testkit.Dispatchers(n))
		for _, l := range testkit.Lockers(e, "first") {
			testkit.MustUnlock(t, testkit.MustLock(t, l))
		}
		var wide []engine.Locker
		for _, name := range testkit.Spread("wide", 64) {
			wide = append(wide, e.Mutex(name))
		}
		testkit.MustUnlock(t, testkit.MustLock(t, testkit.Multi(t, wide...)))
		for _, node := range c.Nodes {
			n := strings.Count(node.MustDo("CLIENT", "LIST").Text, e.ID())
			most = max(most, n)
		}
		return most
	}
	one, two, four := connections(1), connections(2), connections(4)
	t.Logf("one dispatcher has %d connections to a master, two have %d, four have %d", one, two, four)
	const ofOne = 5 // three for commands, one for messages, one for the client's own use
	if one > ofOne+1 || two > ofOne+1 || four > 2*ofOne+1 {
		t.Errorf("one dispatcher has %d connections to a master, two have %d, four have %d; want at most %d, %d and %d", one, two, four, ofOne+1, ofOne+1, 2*ofOne+1)
	}
}

// Hash slots may move between any two masters, also to one that a dispatcher did not need before, and each dispatcher follows.
// invariant: command-follows-its-slot
func TestClusterDispatchersFollowTheirSlots(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 2, 0)
	e := testkit.Join(t, c, testkit.Dispatchers(2))
	from, to := c.Nodes[0], c.Nodes[1] // each is known to one of the dispatchers alone
	name := nameAt(t, c, "moving", from)
	held := testkit.MustLock(t, e.Mutex(name))
	waiter := e.Mutex(name).LockAsync(testkit.Soon(t))
	c.MoveSlot(slotOf(name), to)
	testkit.MustUnlock(t, held)
	h, err := waiter.Wait(testkit.Soon(t))
	if err != nil {
		t.Fatal(err)
	}
	testkit.MustUnlock(t, h)
	testkit.MustUnlock(t, testkit.MustLock(t, e.Mutex(nameAt(t, c, "stays", from))))
	redistest.Await(t, "links to all that serve", func() bool { return e.Stats().Up })
}
