package topology

import (
	"context"
	"net"
	"slices"
	"testing"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/internal/redistest"
)

// What a real node tells is all of the slots, each once; also when it announces another address than its own.
func TestAskARealNode(t *testing.T) {
	c := redistest.StartCluster(t, 3, 0)
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{c.Nodes[0].Addr()}, ForceSingleClient: true, DisableCache: true})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	check := func(want []string) {
		t.Helper()
		m, err := Ask(context.Background(), client, c.Nodes[0].Addr())
		if err != nil {
			t.Fatal(err)
		}
		var served [16384]int
		for _, r := range m.Ranges {
			for slot := int(r.First); slot <= int(r.Last); slot++ {
				served[slot]++
			}
		}
		if slices.Max(served[:]) != 1 || slices.Min(served[:]) != 1 {
			t.Errorf("slots are served %d to %d times", slices.Min(served[:]), slices.Max(served[:]))
		}
		if got := m.Masters(); !slices.Equal(got, want) {
			t.Errorf("masters %q, want %q", got, want)
		}
	}
	addrs := c.Addrs()
	check(addrs)
	c.Nodes[0].MustDo("CONFIG", "SET", "cluster-announce-hostname", "elsewhere.example")
	c.Nodes[0].MustDo("CONFIG", "SET", "cluster-preferred-endpoint-type", "unknown-endpoint") // "as you have reached me"
	_, port, _ := net.SplitHostPort(addrs[0])
	check([]string{"127.0.0.1:" + port, addrs[1], addrs[2]})
}
