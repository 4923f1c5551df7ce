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

// freshNode starts a node of a cluster that knows nobody, and gives it these hash slots.
func freshNode(t *testing.T, ranges ...string) *redistest.Server {
	node := redistest.Start(t, "--cluster-enabled", "yes", "--cluster-port", strconv.Itoa(redistest.FreePort(t)), "--cluster-require-full-coverage", "no")
	if len(ranges) > 0 {
		node.MustDo(append([]string{"CLUSTER", "ADDSLOTSRANGE"}, ranges...)...)
		redistest.Await(t, "a node that is ready", func() bool { return strings.HasPrefix(node.MustDo("CLUSTER", "INFO").Text, "cluster_state:ok") })
	}
	return node
}

// Where one of the seeds knows nothing useful, or only a part of the hash slots, Open uses the other, in whichever order they are asked and answer.
func TestClusterOpensByTheSeedThatKnowsMost(t *testing.T) {
	t.Parallel()
	good := freshNode(t, "0", "16383")
	nameless := freshNode(t, "0", "16383")
	nameless.MustDo("CONFIG", "SET", "cluster-preferred-endpoint-type", "hostname") // of which it has none: "?"
	for what, other := range map[string]*redistest.Server{
		"without hash slots": freshNode(t), "with some": freshNode(t, "0", "100"), "without an address": nameless, "no cluster": redistest.Start(t),
	} {
		for _, seeds := range [][]string{{good.Addr(), other.Addr()}, {other.Addr(), good.Addr()}} {
			for range 2 {
				e := testkit.Connect(t, "", func(o *engine.Options) { o.Redis.InitAddress = seeds })
				h := testkit.MustLock(t, e.Mutex("stock:7")) // hash slot 8118
				if holder, err := e.Holder(testkit.Soon(t), h.TenureID()); err != nil || holder.Connections == 0 {
					t.Errorf("a seed %s: Holder = %+v, %v", what, holder, err)
				}
				testkit.MustUnlock(t, h)
				e.Close()
			}
		}
	}
}

// A cluster that is not formed yet, or that tells no address, is an error that says so, also if no seed knows more.
func TestClusterThatIsNotFormed(t *testing.T) {
	t.Parallel()
	const unserved = "no node of the cluster serves a hash slot yet"
	a, b, nameless := freshNode(t), freshNode(t), freshNode(t, "0", "16383")
	nameless.MustDo("CONFIG", "SET", "cluster-preferred-endpoint-type", "hostname")
	closed := "127.0.0.1:" + strconv.Itoa(redistest.FreePort(t))
	for _, c := range []struct {
		seeds []string
		want  []string
	}{
		{[]string{a.Addr()}, []string{unserved}},
		{[]string{a.Addr(), b.Addr()}, []string{unserved}},
		{[]string{closed, a.Addr()}, []string{unserved, "connection refused"}},
		{[]string{nameless.Addr()}, []string{"cluster-announce-hostname"}},
		{[]string{a.Addr(), nameless.Addr()}, []string{unserved, "cluster-announce-hostname"}},
	} {
		o := testkit.OptionsFor("")
		o.Redis.InitAddress = c.seeds
		e, err := engine.Open(testkit.Soon(t), o)
		if err == nil {
			e.Close()
		}
		for _, want := range c.want {
			if !errors.Is(err, engine.ErrUnavailable) || !strings.Contains(err.Error(), want) {
				t.Errorf("Open at %v = %v, want ErrUnavailable with %q", c.seeds, err, want)
			}
		}
	}
}
