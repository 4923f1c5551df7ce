package dispatcher

import (
	"context"
	"slices"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/dispatcher/reconnect"
	"github.com/wheellock/wheellock/dispatcher/redisconn"
	"github.com/wheellock/wheellock/dispatcher/subscriber"
	"github.com/wheellock/wheellock/dispatcher/topology"
	"github.com/wheellock/wheellock/scripts"
)

// node is one Redis that serves names: what waits to be sent there, the connections that carry it, what is known of
// the link, and the subscriber for its messages. Nothing of one node waits for another. The loop owns it.
type node struct {
	nodes  *nodes // of which it is one
	addr   string // in a cluster
	cancel context.CancelFunc
	server *redisconn.Server

	out        outbox
	idle       []*connection
	all        []*connection
	carrying   int       // connections that are away with commands
	dialAt     gate.Time // one more network connection could not be made: none is tried before, while others stand
	unmade     reconnect.Outage
	nearest    gate.Time // the shortest round trip since the link broke, for those of a busy server are long; 0: none
	link       link
	narrow     bool                   // it refuses wide calls
	refusals   reconnect.Outage       // of wide calls; these do not end
	stopped    scripts.Fault          // why it refuses writes; None: it does not, as far as is known
	unwritten  reconnect.Outage       // of those
	subscriber *subscriber.Subscriber // nil: there is no client yet
	namedAt    gate.Time              // in a cluster: when a redirect, a survey or the lack of others last named it

	follower *topology.Follower // nil: the master does not change
}

// connection is one connection of a node.
type connection struct {
	*redisconn.Connection
	node   *node
	stands bool // its network connection was made, and did not break since
}

const (
	// busyConnections is how many pipelines are on their way at once while many names are; with two, one is written while another is read.
	// With replicas to wait for there are as many for what they are to have.
	busyConnections = 3
	// mostConnections is how many are on their way at once while few names are.
	mostConnections = 8
	// timeOfName is how much of a round trip there must be for each name that is on its way, so that they are few. Where more names come back in
	// this time processors are the limit, and batches save them; where fewer do, a command that waits for a connection wastes its time.
	timeOfName = 50 * time.Microsecond
)

// newNode starts the connections and the subscriber of a node. loaded is what Load said of it; without it the first probe does
// the loading, and connects when there is no client either.
func newNode(ns *nodes, addr string, client rueidis.Client, loaded *redisconn.Loaded) *node {
	ctx, cancel := context.WithCancel(context.Background())
	n := &node{nodes: ns, addr: addr, cancel: cancel, server: redisconn.NewServer(ctx, &ns.connections, addr, client)}
	n.out.commands = &ns.gates.fx.Commands
	if ns.cluster != nil {
		n.out.commands = new([gate.Ops][]gate.Command)
	}
	n.link = link{state: linkShaky}
	if loaded != nil {
		n.server.LearnFrom(loaded)
		n.link = link{state: linkUp, probeAt: gate.Never, upAt: -reconnect.Steady}
		n.noteNarrow()
	}
	if client != nil {
		n.startSubscriber()
	}
	if ns.connections.Replicas == 0 && ns.connections.Fsync == 0 {
		n.addConnections(mostConnections, redisconn.AllCommands)
	} else {
		n.addConnections(busyConnections, redisconn.OtherCommands)
		n.addConnections(busyConnections, redisconn.ReplicatedCommands)
	}
	if ns.cluster == nil {
		n.follower = topology.Follow(client, func() { ns.mail.put(switched{n}) })
	}
	return n
}

func (n *node) addConnections(count int, class redisconn.Class) {
	for range count {
		c := &connection{node: n}
		c.Connection = redisconn.New(n.server, class, func() { n.nodes.mail.putReturned(c) })
		n.all = append(n.all, c)
		n.idle = append(n.idle, c)
	}
}

// startSubscriber starts the subscriber. The node has a client.
func (n *node) startSubscriber() {
	cfg, publish := n.nodes.cfg, n.nodes.connections.Publish
	n.subscriber = subscriber.New(subscriber.Config{
		Client: n.server.Client, Engine: cfg.Gate.UUID, Plain: publish != "SPUBLISH", Sharded: publish != "PUBLISH",
		Cluster: n.nodes.cluster != nil, Logger: cfg.Logger, Where: n.where, Owner: n,
	})
}

// subscribe subscribes to a channel, or unsubscribes if on is false.
func (n *node) subscribe(channel string, on bool) {
	if n.subscriber != nil {
		n.subscriber.Want(channel, on)
	}
}

// lend takes an idle connection; nil: all are away.
func (n *node) lend() *connection {
	last := len(n.idle) - 1
	if last < 0 {
		return nil
	}
	c := n.idle[last]
	n.idle = n.idle[:last]
	return c
}

// dialRest is for how long no further network connection is tried, since one could not be made while others stand.
const dialRest = time.Second

// others reports whether another connection of the class of c stands.
func (n *node) others(c *connection) bool {
	return slices.ContainsFunc(n.all, func(o *connection) bool { return o != c && o.stands && o.Class == c.Class })
}

// noteStands notes whether the network connection of c stands.
func (n *node) noteStands(c *connection, stands bool) {
	if stands && !c.stands {
		n.unmade.Ended(n.nodes.cfg.Logger, "wheellock: further connections to Redis can be made again", n.where()...)
	}
	c.stands = stands
}

// keep goes on with the connections that stand, since no other can be made: the last of them is used next. False: none stands, or they lead to
// a server that is not the master any more.
func (n *node) keep() bool {
	last := -1
	for i, c := range n.idle {
		if !n.link.switched && c.Keep() {
			c.stands, last = true, i
		}
	}
	if last < 0 {
		return false
	}
	c := n.idle[last]
	n.idle = append(slices.Delete(n.idle, last, last+1), c)
	return true
}

// crowded reports whether commands wait for a connection that is away, and become one batch with what comes until then: many names are on
// their way.
func (n *node) crowded() bool {
	few := min(max(busyConnections, int(n.nearest/timeOfName)), 2*mostConnections)
	return n.carrying >= busyConnections && n.nodes.names > few
}

// busy reports whether answers are on their way that can be waited for.
func (n *node) busy() bool { return n.carrying > 0 && n.link.state == linkUp }

// quiet reports whether nothing is to be done here.
func (n *node) quiet() bool {
	return len(n.idle) == len(n.all) && n.out.empty() && !n.nodes.routes.leadTo(n)
}

// alarm is when the loop is to look at the node again; a connection that comes back, a probe's too, wakes it by itself.
func (n *node) alarm() gate.Time {
	if len(n.idle) == 0 || n.link.probing {
		return gate.Never
	}
	return n.link.probeAt
}

// serves reports whether names depend on the node.
func (n *node) serves() bool { return n.nodes.cluster == nil || n.nodes.cluster.slots.Count(n) > 0 }

// where says to a logger which server it is about. Any goroutine may call it once the node has a client.
func (n *node) where(besides ...any) []any {
	addr := n.addr
	if addr == "" {
		addr = topology.ServerOf(n.server.Client)
	}
	return append([]any{"addr", addr}, besides...)
}

// noteNarrow notes whether the node refuses wide calls, and logs it the first time.
func (n *node) noteNarrow() {
	refuses := n.server.RefusesWide()
	if n.narrow == (refuses != "") {
		return
	}
	n.narrow = !n.narrow
	narrow := &n.nodes.cfg.Gate.Stats.Narrow
	if !n.narrow {
		narrow.Dec()
		return
	}
	narrow.Inc()
	n.refusals.Failed(n.nodes.cfg.Logger,
		"wheellock: node refuses script calls with names of several hash slots, and gets more, smaller calls", n.where("error", refuses)...)
}

// stop ends the subscriber and the connections; connections that are away are cut. The client of a single server is the
// engine's.
func (n *node) stop() {
	n.follower.Close()
	n.cancel()
	if n.subscriber != nil {
		n.subscriber.Close()
	}
	for _, c := range n.all {
		c.Stop()
	}
	for _, c := range n.all {
		c.Wait()
	}
	if n.nodes.cluster != nil && n.server.Client != nil { // perhaps made by a probe that came back to nobody
		n.server.Client.Close()
	}
}
