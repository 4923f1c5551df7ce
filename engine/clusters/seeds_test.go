package clusters_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// announce has a node of a cluster say that it is reached at another address.
func announce(node *redistest.Server, addr string) {
	_, port, _ := strings.Cut(addr, ":")
	node.MustDo("CONFIG", "SET", "cluster-announce-port", port)
}

// All nodes have other addresses now, as after a change of the network. Who was told where to ask first asks there again.
func TestClusterIsFoundAgainBySeeds(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 1, 0)
	node := c.Nodes[0]
	before := redistest.NewProxy(t, node.Addr())
	announce(node, before.Addr())
	e := testkit.Join(t, c)
	testkit.MustUnlock(t, testkit.MustLock(t, e.Mutex("found")))
	after := redistest.NewProxy(t, node.Addr())
	announce(node, after.Addr())
	before.Close()
	testkit.MustUnlock(t, testkit.MustLock(t, e.Mutex("found")))
	if after.Stats().Accepted == 0 {
		t.Error("the engine did not come by the new address")
	}
}

// A cluster with masters that nobody reaches is an error at once, with the address that they have announced. A replica tells of them.
func TestClusterWithMastersThatNobodyReaches(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 1, 1)
	closed := strconv.Itoa(redistest.FreePort(t))
	announce(c.Nodes[0], "127.0.0.1:"+closed)
	replica := c.Nodes[1]
	redistest.Await(t, "a replica that knows the address", func() bool { return strings.Contains(replica.MustDo("CLUSTER", "NODES").Text, ":"+closed+"@") })
	e, err := engine.Open(testkit.Soon(t), testkit.OptionsFor(replica.Addr()))
	if err == nil {
		e.Close()
	}
	if !errors.Is(err, engine.ErrUnavailable) || !strings.Contains(err.Error(), ":"+closed) {
		t.Errorf("Open = %v, want ErrUnavailable with port %s", err, closed)
	}
	testkit.Mentions(t, err, announces)
}

// announces begins the advice about an address that nobody but the cluster has named.
const announces = "the cluster announces this address"

// A cluster that announces addresses which lead nowhere from here, as behind NAT, is not taken for one that does not run. One that was named is.
func TestAnnouncedAddressesThatLeadNowhere(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 1, 0)
	seed := c.Nodes[0].Addr()
	open := func(wants bool, words ...string) {
		t.Helper()
		e, err := engine.Open(testkit.Soon(t), testkit.OptionsFor(seed))
		if err == nil {
			e.Close()
		}
		if !errors.Is(err, engine.ErrNotSent) || strings.Contains(err.Error(), announces) != wants {
			t.Errorf("Open = %v, want ErrNotSent, with that advice: %t", err, wants)
			return
		}
		testkit.Mentions(t, err, words...)
	}
	announce(c.Nodes[0], "127.0.0.1:"+strconv.Itoa(redistest.FreePort(t)))
	open(true, "connecting to "+seed, "cluster-announce-ip")
	c.Nodes[0].Kill()
	open(false, "is redis-server running there?")
}

// A master that is down when an engine opens leaves those alone who lock names of others.
func TestClusterOpensWhileAMasterIsDown(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 2, 0)
	for _, node := range c.Nodes {
		node.MustDo("CONFIG", "SET", "cluster-require-full-coverage", "no")
	}
	here := nameAt(t, c, "stock", c.Nodes[0])
	c.Nodes[1].Kill()
	e := testkit.Join(t, c)
	testkit.MustUnlock(t, testkit.MustLock(t, e.Mutex(here)))
}
