package target

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"
)

// Reading is what a server, or all nodes of a cluster, has done since it started. Known is false where it
// does not tell: miniredis cannot, and a user may lack the right to INFO.
type Reading struct {
	Known    bool
	servers  []string         // run ids: after a restart or a failover there is nothing to compare with
	CPU      time.Duration    // of redis-server, all its threads, in user and kernel
	Commands map[string]int64 // executed, also inside scripts, by their names in INFO commandstats
}

// Read reads the server's counters. It leaves the INFO commands that it costs out of the counts.
func (t *Target) Read(ctx context.Context) Reading {
	sum := Reading{Known: true, Commands: make(map[string]int64)}
	for _, node := range t.nodes() {
		text := ""
		for _, section := range []string{"server", "cpu", "commandstats"} { // before 7.0, INFO takes one at a time
			info, err := node.Do(ctx, node.B().Info().Section(section).Build()).ToString()
			if err != nil {
				return Reading{}
			}
			text += info
		}
		if sum.add(text) != nil {
			return Reading{}
		}
	}
	return sum
}

func (r *Reading) add(info string) error {
	values := fields(info)
	r.servers = append(r.servers, values["run_id"])
	slices.Sort(r.servers)
	for _, name := range []string{"used_cpu_sys", "used_cpu_user"} {
		seconds, err := strconv.ParseFloat(values[name], 64)
		if err != nil {
			return fmt.Errorf("INFO cpu has no %s", name)
		}
		r.CPU += time.Duration(seconds * float64(time.Second))
	}
	for name, value := range values {
		command, found := strings.CutPrefix(name, "cmdstat_")
		if !found || command == "info" {
			continue
		}
		calls, _, _ := strings.Cut(strings.TrimPrefix(value, "calls="), ",")
		n, err := strconv.ParseInt(calls, 10, 64)
		if err != nil {
			return fmt.Errorf("INFO commandstats: %w", err)
		}
		r.Commands[command] += n
	}
	return nil
}

// Since is what was done between an earlier reading and this one, of the same servers; else nothing is known.
func (r Reading) Since(before Reading) Reading {
	if !r.Known || !before.Known || !slices.Equal(r.servers, before.servers) {
		return Reading{}
	}
	d := Reading{Known: true, CPU: r.CPU - before.CPU, Commands: make(map[string]int64)}
	for command, n := range r.Commands {
		if n -= before.Commands[command]; n != 0 {
			d.Commands[command] = n
		}
	}
	return d
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

// fields reads the lines "name:value" of INFO.
func fields(info string) map[string]string {
	values := make(map[string]string)
	for line := range strings.Lines(info) {
		if name, value, found := strings.Cut(strings.TrimSpace(line), ":"); found {
			values[name] = value
		}
	}
	return values
}
