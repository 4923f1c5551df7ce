package doctor

import (
	"strings"

	"github.com/wheellock/wheellock/dispatcher/rediserr"
)

// slots judges whether what looks like a single server is a cluster, and whether a node of a cluster takes names of many hash slots in one
// call.
func slots(n *node) []Finding {
	name := n.prefix + "wheellock-doctor:"
	if n.isCluster() {
		return n.wide(name)
	}
	err := n.do("EVAL", sampleScript, "2", name+"{a}", name+"{b}").Error()
	if err != nil && strings.HasPrefix(err.Error(), "CROSSSLOT") {
		return found(Warning, "calls with keys of two hash slots are refused: this is a cluster that shows itself as one server",
			"Engines send many names in one call. Each such call is refused, and then sent again name by name.", "name the nodes of the cluster in the URL, and let this user run CLUSTER SLOTS")
	}
	n.failed("EVAL", err)
	return nil
}

// wide judges how a node of a cluster answers scripts without keys, and scripts with keys of two of its hash slots.
func (n *node) wide(name string) []Finding {
	err := n.do("EVAL", "return redis.call('PING')", "0").Error()
	if err != nil && strings.Contains(err.Error(), "non local key") {
		return found(Error, "every script fails, as on Valkey 9.1 after one in which a command had keys of two hash slots: "+err.Error(),
			"Locks of this node can be neither taken nor renewed, and holders lose them.",
			"restart this node, or have a replica take over; find the script: each command in it must keep to the keys of one hash slot")
	}
	declared, other := n.served.Key(n.addr, name), n.served.Key(n.addr, name+":")
	if declared == "" { // it serves nothing
		return nil
	}
	err = n.do("EVAL", "return redis.call('EXISTS', ARGV[1])", "1", declared, other).Error()
	if err == nil {
		return nil
	}
	if refuses := rediserr.Judge(err).Doubts(); refuses != "" {
		return found(Note, "scripts may not touch keys that their call does not declare: "+refuses,
			"Engines send this node a call for each hash slot, which costs it two to three times as much for each lock. Other nodes are not concerned.")
	}
	return nil
}
