package doctor

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// cluster judges what the nodes of a cluster say of it.
func cluster(d *deployment) (all []Finding, err error) {
	switch {
	case len(d.nodes) == 0 && d.opts.Redis.Sentinel.MasterSet == "":
		return nil, errUnfound
	case !d.isCluster():
		return fine("not a cluster"), nil
	}
	nodes := ""
	for _, n := range d.nodes {
		text, unsaid := n.do("CLUSTER", "INFO").ToString()
		if unsaid == nil {
			all = append(all, stateOf(n.addr, fieldsOf(text))...)
			nodes, unsaid = n.do("CLUSTER", "NODES").ToString()
			all = append(all, openAt(n.addr, nodes)...)
		}
		if unsaid != nil && !gone(unsaid) { // those that do not answer are found already
			err = errors.Join(err, fmt.Errorf("%s: %w", n.addr, unsaid))
		}
	}
	return append(all, failing(nodes)...), err
}

// stateOf judges CLUSTER INFO of one node.
func stateOf(addr string, facts map[string]string) []Finding {
	if facts["cluster_state"] == "ok" && facts["cluster_slots_ok"] == "16384" {
		return nil
	}
	return at(addr, found(Error, fmt.Sprintf("cluster_state is %s, and %s of 16384 hash slots are served", facts["cluster_state"], facts["cluster_slots_ok"]),
		"Locks whose hash slots nobody serves can be neither taken nor renewed, and holders lose them.",
		"start the master of these slots or a replica of it; redis-cli --cluster check shows the slots, --cluster fix gives them to other masters"))
}

// openAt judges what one node says of itself in CLUSTER NODES: hash slots that are on their way to another node, or from one.
func openAt(addr, nodes string) []Finding {
	var open []string
	for word := range strings.FieldsSeq(unmarked(nodes)) {
		move, bracketed := strings.CutPrefix(word, "[") // [7->-id] or [7-<-id]
		if slot, _, moves := strings.Cut(move, "-"); bracketed && moves {
			open = append(open, slot)
		}
	}
	if open == nil {
		return nil
	}
	return at(addr, found(Warning, fmt.Sprintf("hash slots on their way to another master, or from one: %d, such as %s", len(open), open[0]),
		"Locks of several keys in such a slot (fenced and fair ones, readers, permits) may be neither taken nor freed. If no resharding is "+
			"under way, one was interrupted, and they wait for ever.",
		"wait for the end of the resharding; after one that was interrupted, redis-cli --cluster fix"))
}

// failing judges CLUSTER NODES: nodes that fail, and masters without a replica that can take over.
func failing(nodes string) (all []Finding) {
	replicas, masters := map[string]int{}, map[string]string{}
	for line := range linesOf(nodes) {
		words := strings.Fields(line) // id, address, flags, id of the master, four numbers and states, hash slots
		if len(words) < 8 {
			continue
		}
		addr, _, _ := strings.Cut(words[1], "@")
		switch flags := strings.Split(words[2], ","); {
		case slices.Contains(flags, "fail"), slices.Contains(flags, "fail?"):
			all = append(all, at(addr, found(Warning, "this node fails ("+words[2]+")",
				"If it is a master, its locks wait for a failover. If it is a replica, it cannot take over.", "start it again, or remove it by redis-cli --cluster del-node"))...)
		case slices.Contains(flags, "slave"):
			if !slices.Contains(flags, "nofailover") {
				replicas[words[3]]++
			}
		case len(words) > 8:
			masters[addr] = words[0]
		}
	}
	for _, addr := range slices.Sorted(maps.Keys(masters)) {
		if replicas[masters[addr]] == 0 {
			all = append(all, at(addr, found(Warning, "this master has no replica that can take over",
				"If it ends, its locks can be neither taken nor renewed until it is back.", "add a replica by redis-cli --cluster add-node with --cluster-slave, or CONFIG SET cluster-replica-no-failover no at one that has it"))...)
		}
	}
	return all
}
