package doctor

import (
	"fmt"
	"time"

	"github.com/wheellock/wheellock/cmd/wheellock/internal/cli"
)

// replicas judges what a master does without its replicas, and whether a replica has what its master has.
func replicas(n *node) []Finding {
	switch slave := n.text("role") == "slave"; {
	case slave && n.replica:
		return link(n)
	case slave:
		return append(found(Error, "this is a replica of "+n.text("master_host")+":"+n.text("master_port"), "A replica takes no writes: no lock can be taken here.",
			"name the master in the URL, or the sentinels with master_set=, or nodes of the cluster"), link(n)...)
	case n.replica: // a master without hash slots, or one that has just taken over
		return nil
	}
	connected, needed := n.number("connected_slaves"), n.configured("min-replicas-to-write")
	lag := time.Duration(n.configured("min-replicas-max-lag")) * time.Second
	shorter := set("min-replicas-max-lag", max(1, min(10, int(n.lease.Seconds()/2))))
	switch {
	case needed > 0 && lag > 0 && n.number("min_slaves_good_slaves") < needed:
		return found(Error, fmt.Sprintf("%s connected, and min-replicas-to-write is %d", cli.Plural(connected, "replica is", "replicas are"), needed),
			"Redis refuses every write (NOREPLICAS): locks can be neither taken nor renewed, and holders lose them.", "connect a replica again")
	case connected > 0 && (needed == 0 || lag == 0):
		return found(Warning, cli.Plural(connected, "replica is connected, and the master goes on without it", "replicas are connected, and the master goes on without them"),
			"A master that is cut off grants locks while a replica has become the master: two holders.", set("min-replicas-to-write", 1), shorter)
	case connected > 0 && lag >= n.lease:
		return found(Warning, fmt.Sprintf("min-replicas-max-lag is %v, and the lease %v", lag, n.lease),
			"A master that is cut off grants locks for longer than a lease, while a replica has become the master: two holders.", shorter)
	}
	return fine(fmt.Sprintf("%d connected", connected))
}

// link judges the link of a replica to its master.
func link(n *node) []Finding {
	state := n.text("master_link_status")
	if state == "up" {
		return nil
	}
	return found(Warning, "its link to the master is "+state, "It lacks the newest locks. If it takes over, other callers get them while their holders still work.",
		"look into the log of this server: the network, masterauth, masteruser")
}
