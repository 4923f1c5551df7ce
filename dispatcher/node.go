package dispatcher

import (
	"context"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/internal/gate"
)

// node is one Redis that serves names: what waits to be sent there, the connections that carry it, what is known of
// the link, the subscriber for its messages, and its clock. Nothing of one node waits for another. The loop owns it; a
// connection reads client and server.
type node struct {
	d      *Dispatcher
	id     int64
	addr   string          // in a cluster
	ctx    context.Context // ends with the node
	cancel context.CancelFunc
	client rueidis.Client // connections and subscriber have connections of their own from it; nil: the first probe makes it
	server serverClock

	out        outbox
	idle       []*connection
	all        []*connection
	carrying   int // connections that are away with commands
	link       link
	subscriber *subscriber // nil: there is no client yet
	channels   int         // that are listened to here
	slots      int         // hash slots it serves
	usedAt     gate.Time   // when it was last named in a redirect, or made

	follower *follower // nil: the master does not change
}

// connections is how many pipelines may be on their way at once; with two, one is written while another is read. With
// replicas to wait for there are as many for what they are to have.
const connections = 3

// newNode starts the connections and the subscriber of a node. loaded is what Load said of it; without it the first probe does
// the loading, and connects when there is no client either.
func newNode(d *Dispatcher, addr string, client rueidis.Client, loaded *Loaded) *node {
	n := &node{d: d, id: d.nodeID, addr: addr, client: client, slots: 1}
	d.nodeID++
	n.ctx, n.cancel = context.WithCancel(context.Background())
	n.out.commands = &d.fx.Commands
	if d.cluster != nil {
		n.out.commands, n.slots = new([gate.Ops][]gate.Command), 0
	}
	n.link = link{state: linkShaky}
	if loaded != nil {
		n.server.learn(loaded.serverMillis, loaded.at)
		n.link = link{state: linkUp, probeAt: gate.Never, upAt: -steady}
	}
	if client != nil {
		n.listen()
	}
	if d.cfg.Replicas == 0 {
		n.addConnections(connections, allCommands)
	} else {
		n.addConnections(connections, otherCommands)
		n.addConnections(connections, replicatedCommands)
	}
	n.follower = n.follow()
	return n
}

func (n *node) addConnections(count int, of commandClass) {
	for range count {
		l := newConnection(n, of)
		n.all = append(n.all, l)
		n.idle = append(n.idle, l)
		go l.run()
	}
}

// listen gives the node its subscriber, which begins with the channels that wait for it.
func (n *node) listen() {
	n.subscriber = newSubscriber(n)
	for channel, r := range n.d.heard {
		if r.node == n {
			n.subscriber.want(channel, true)
		}
	}
}

// hear listens to a channel, or does not any more.
func (n *node) hear(channel string, on bool) {
	if n.subscriber != nil {
		n.subscriber.want(channel, on)
	}
}

// lend takes an idle connection; nil: all are away.
func (n *node) lend() *connection {
	last := len(n.idle) - 1
	if last < 0 {
		return nil
	}
	l := n.idle[last]
	n.idle = n.idle[:last]
	return l
}

// busy reports whether answers are on their way that can be waited for.
func (n *node) busy() bool { return n.carrying > 0 && n.link.state == linkUp }

// quiet reports whether nothing is to be done here.
func (n *node) quiet() bool { return len(n.idle) == len(n.all) && n.channels == 0 && n.out.empty() }

// alarm is when the loop is to look at the node again; a connection that comes back, a probe's too, wakes it by itself.
func (n *node) alarm() gate.Time {
	if len(n.idle) == 0 || n.link.probing {
		return gate.Never
	}
	return n.link.probeAt
}

// stop ends the subscriber and the connections; the connections of those that are away are cut. The client of a single server is the
// engine's.
func (n *node) stop() {
	n.follower.close()
	n.cancel()
	if n.subscriber != nil {
		n.subscriber.close()
	}
	for _, l := range n.all {
		close(l.work)
	}
	for _, l := range n.all {
		<-l.stopped
	}
	if n.d.cluster != nil && n.client != nil { // perhaps made by a probe that came back to nobody
		n.client.Close()
	}
}
