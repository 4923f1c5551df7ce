package target

import (
	"context"
	"slices"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/internal/testkit/resp"
)

// Reading is what a server, or all nodes of a cluster, or all servers of a quorum, has done since it started. Known is false where it
// does not tell: miniredis cannot, and a user may lack the right to INFO.
type Reading struct {
	Known bool
	resp.Counters
}

// Read reads the server's counters.
func (t *Target) Read(ctx context.Context) Reading {
	sum := Reading{Known: true}
	nodes := t.nodes()
	for _, other := range t.Others {
		nodes = append(nodes, other.nodes()...)
	}
	for _, node := range nodes {
		text := ""
		for _, section := range resp.Sections {
			info, err := node.Do(ctx, node.B().Info().Section(section).Build()).ToString()
			if err != nil {
				return Reading{}
			}
			text += info
		}
		if sum.Add(text) != nil {
			return Reading{}
		}
	}
	return sum
}

// Since is what was done between an earlier reading and this one, of the same servers: after a restart or a failover nothing is
// known. The servers' run ids tell, which change at each start; counters that began again at 0 would give a negative cost.
func (r Reading) Since(before Reading) Reading {
	if !r.Known || !before.Known || !slices.Equal(r.Servers, before.Servers) {
		return Reading{}
	}
	return Reading{true, r.Counters.Since(before.Counters)}
}

// nodes are the server, or those of a cluster.
func (t *Target) nodes() []rueidis.Client {
	if t.client.Mode() != rueidis.ClientModeCluster {
		return []rueidis.Client{t.client}
	}
	var nodes []rueidis.Client
	for _, node := range t.client.Nodes() {
		nodes = append(nodes, node)
	}
	return nodes
}
