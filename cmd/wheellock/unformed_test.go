package main

import (
	"strconv"
	"testing"

	"github.com/wheellock/wheellock/internal/redistest"
)

// No command takes a cluster that is not formed for an empty one; and none that is not whole, or whose nodes do not tell their addresses.
func TestAClusterThatIsNotFormed(t *testing.T) {
	t.Parallel()
	fresh := func(ranges ...string) *redistest.Server {
		node := redistest.Start(t, "--cluster-enabled", "yes", "--cluster-port", strconv.Itoa(redistest.FreePort(t)))
		if len(ranges) > 0 {
			node.MustDo(append([]string{"CLUSTER", "ADDSLOTSRANGE"}, ranges...)...)
		}
		return node
	}
	empty, good, part := fresh(), fresh("0", "16383"), fresh("0", "100")
	for _, args := range [][]string{{"ls"}, {"top", "--count", "1"}, {"show", "stock:7"}, {"lock", "stock:7", "--", "true"},
		{"elect", "stock:7", "--", "true"}, {"force", "--yes", "stock:7"}} {
		wheellock(t, append([]string{"--redis", "redis://" + empty.Addr()}, args...)...).want(t, 69, "no node of the cluster serves a hash slot yet")
	}
	wheellock(t, "doctor", "redis://"+empty.Addr()).want(t, 2, "no node of the cluster")
	wheellock(t, "ls", "--redis", "redis://"+part.Addr()).want(t, 69, "no node whose address is known serves 16283 of the 16384 hash slots")
	for range 3 {
		for _, url := range []string{"redis://" + empty.Addr() + "?addr=" + good.Addr(), "redis://" + good.Addr() + "?addr=" + empty.Addr()} {
			redistest.Await(t, "a node that is ready", func() bool { return good.MustDo("CLUSTER", "INFO").Text[:16] == "cluster_state:ok" })
			good.MustDo("HSET", "stock:7", "5b6347ed-ad50-8731-b33b-a0a5d591a909:1", "1")
			wheellock(t, "ls", "--redis", url).want(t, 0, "stock:7")
			wheellock(t, "top", "--count", "1", "--redis", url).want(t, 0, "stock:7")
			wheellock(t, "doctor", url).want(t, 1, "a Redis Cluster of 1 node")
		}
	}
}
