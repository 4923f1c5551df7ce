package doctor

import "strings"

// slots judges whether what looks like a single server is a cluster.
func slots(n *node) []Finding {
	if n.isCluster() {
		return nil
	}
	name := n.prefix + "wheellock:doctor:"
	err := n.do("EVAL", sampleScript, "2", name+"{a}", name+"{b}").Error()
	if err != nil && strings.HasPrefix(err.Error(), "CROSSSLOT") {
		return found(Warning, "calls with keys of two hash slots are refused: this is a cluster that shows itself as one server",
			"Engines send many names in one call. Each such call is refused, and then sent again name by name.", "name the nodes of the cluster in the URL, and let this user run CLUSTER SLOTS")
	}
	n.failed("EVAL", err)
	return nil
}
