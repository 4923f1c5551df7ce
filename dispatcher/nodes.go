package dispatcher

import (
	"slices"
	"sync"

	"go.uber.org/atomic"

	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/dispatcher/redisconn"
)

// nodes is the servers that serve names: one, or those of a cluster.
type nodes struct {
	cfg    *Config
	mail   *mailbox // where they leave events
	gates  *gates   // which hear their answers
	routes *routes

	all     []*node
	cluster *cluster      // nil: a single server, the only node; set once
	fast    bool          // there have been waiters that do not wait while the link is down
	names   int           // that are on their way, in the batches of connections
	near    bool          // the node that answered last is a nearby one
	leaving []*connection // to be sent off at the end of this turn

	// Owned by nobody: safe from anywhere.
	connections redisconn.Config // does not change
	up          atomic.Bool      // every link that names depend on works
}

// connect starts the nodes. loaded is what Load said of a single server.
func (ns *nodes) connect(loaded *redisconn.Loaded) {
	conns := &ns.connections
	*conns = ns.cfg.Connections
	conns.Clock = ns.cfg.Clock
	conns.Suspect = func(name string) { ns.mail.put(suspect{name}) }
	if c := ns.cfg.Cluster; c != nil {
		conns.Cluster, conns.Connect = true, c.Connect
		ns.join(c)
		return
	}
	ns.all = []*node{newNode(ns, "", ns.cfg.Client, loaded)}
	ns.updateHealth()
}

// home is the node that serves a hash slot.
func (ns *nodes) home(slot uint16) *node {
	if ns.cluster == nil {
		return ns.all[0]
	}
	return ns.cluster.slots.Serves(slot)
}

// servedBy picks the names of a node.
func (ns *nodes) servedBy(n *node) func(*gate.Entry) bool {
	return func(e *gate.Entry) bool { return ns.home(e.Slot) == n }
}

// endFast answers the waiters that do not wait while their node is down, of the names that which picks. They may have been asked for.
func (ns *nodes) endFast(now gate.Time, which func(*gate.Entry) bool) {
	if !ns.fast {
		return
	}
	for e := range ns.gates.names.all() {
		if link := &ns.home(e.Slot).link; link.outOfReach() && which(e) {
			out := gate.Outcome{Why: gate.Doubtful, ServerMessage: link.cause}
			e.Machine.Dismiss(now, out, func(w *gate.Waiter) bool { return w.Fast }, &ns.gates.fx)
			ns.gates.stepped(e)
		}
	}
}

// flush puts what the machines asked for on idle connections.
func (ns *nodes) flush(now gate.Time) {
	if ns.cluster == nil {
		ns.all[0].flush(now)
		return
	}
	ns.cluster.flush(now)
}

// sendOff sends the connections off. It is the last of a turn: then the loop goes to sleep, and a connection runs where it ran, before
// another processor is awake to take it over.
func (ns *nodes) sendOff() {
	for _, c := range ns.leaving {
		c.Start()
	}
	ns.leaving = ns.leaving[:0]
}

// alarm is when the loop is to look at a node or at the survey again.
func (ns *nodes) alarm() gate.Time {
	at := gate.Never
	for _, n := range ns.all {
		at = min(at, n.alarm())
	}
	if ns.cluster != nil {
		at = min(at, ns.cluster.alarm())
	}
	return at
}

// updateHealth notes whether all links work.
func (ns *nodes) updateHealth() {
	up := ns.cluster == nil || !ns.cluster.unassigned.serves()
	for _, n := range ns.all {
		up = up && (n.link.state == linkUp || !n.serves())
	}
	ns.up.Store(up)
}

// busy reports whether answers are on their way that can be waited for.
func (ns *nodes) busy() bool { return slices.ContainsFunc(ns.all, (*node).busy) }

// down reports whether no node can be reached.
func (ns *nodes) down() bool {
	return !slices.ContainsFunc(ns.all, func(n *node) bool { return n.link.state != linkDown })
}

// stop ends all nodes, and returns when they have ended.
func (ns *nodes) stop() {
	var all sync.WaitGroup
	for _, n := range ns.all {
		all.Go(n.stop)
	}
	all.Wait()
	if ns.cluster != nil {
		ns.cluster.gone.Wait()
	}
}
