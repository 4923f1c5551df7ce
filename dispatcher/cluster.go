package dispatcher

import (
	"slices"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/dispatcher/reconnect"
	"github.com/wheellock/wheellock/dispatcher/redisconn"
	"github.com/wheellock/wheellock/dispatcher/topology"
)

// Cluster is what a Dispatcher needs of a Redis Cluster.
type Cluster struct {
	Connect func(addr string) (rueidis.Client, error) // a client of that node alone, also one that could not dial yet
	Seeds   []string                                  // addresses to ask when no node that is known can be reached
	Map     *topology.Map                             // the last one
	Reached []Reached                                 // nodes of it that are connected already; their clients are the dispatcher's from then on
}

// Reached is a node that has the scripts.
type Reached struct {
	Addr   string
	Client rueidis.Client
	Loaded *redisconn.Loaded
}

// cluster is which node serves a hash slot, as far as is known. The loop owns it. A single server has none.
type cluster struct {
	*Cluster
	nodes      *nodes
	slots      *topology.Table[*node] // those that have moved: their names have not been told of their new node
	unassigned *node                  // serves what nobody serves: it is down for ever
	survey     topology.Survey
	outage     reconnect.Outage // of the survey
	turn       int              // which node to ask next: one node may know less than another
	gone       sync.WaitGroup   // of nodes that are being closed
}

// lingerTime is how long a node that serves nothing is kept after it was last named: one that takes over its first slot
// is asked again and again.
const lingerTime = 10 * time.Second

// join makes the nodes of a cluster.
func (ns *nodes) join(from *Cluster) {
	unassigned := &node{nodes: ns, link: link{state: linkDown, cause: "no node of the cluster serves the hash slot", probeAt: gate.Never}}
	unassigned.out.commands = new([gate.Ops][]gate.Command)
	c := &cluster{Cluster: from, nodes: ns, slots: topology.NewTable(unassigned), unassigned: unassigned, survey: topology.NewSurvey()}
	ns.cluster = c
	for _, r := range from.Reached {
		ns.all = append(ns.all, newNode(ns, r.Addr, r.Client, r.Loaded))
	}
	now := ns.cfg.Clock.Now()
	c.apply(now, from.Map)
	c.slots.ClearMoved()
	if c.partlyDown() {
		c.survey.SetDue(now)
	}
}

// partlyDown reports whether some hash slot is served by no node that can be reached.
func (c *cluster) partlyDown() bool {
	for _, n := range c.nodes.all {
		if n.serves() && n.link.state != linkUp {
			return true
		}
	}
	return c.unassigned.serves()
}

// nodeAt is the node at an address, made when it was not known.
func (c *cluster) nodeAt(now gate.Time, addr string) *node {
	i := slices.IndexFunc(c.nodes.all, func(n *node) bool { return n.addr == addr })
	if i < 0 {
		i = len(c.nodes.all)
		c.nodes.all = append(c.nodes.all, newNode(c.nodes, addr, nil, nil))
	}
	c.nodes.all[i].namedAt = now
	return c.nodes.all[i]
}

// apply takes over, from a survey, which node serves each hash slot. Slots that the map does not mention stay where they were.
func (c *cluster) apply(now gate.Time, m *topology.Map) {
	c.Map = m
	for _, r := range m.Ranges {
		n := c.nodeAt(now, r.Addr)
		for slot := r.First; slot <= r.Last; slot++ {
			c.slots.Assign(slot, n)
		}
	}
	c.nodes.updateHealth()
}

// distribute puts what the machines asked for into the outboxes of the nodes that serve the names.
func (c *cluster) distribute() {
	fx := &c.nodes.gates.fx
	for op := range fx.Commands {
		queue := fx.Commands[op]
		for i := range queue {
			c.slots.Serves(queue[i].Entry.Slot).out.put(&queue[i])
		}
		fx.Commands[op] = again(queue)
	}
}

// flush asks which node serves what, when it is time, and sends what the machines asked for.
func (c *cluster) flush(now gate.Time) {
	c.sendSurvey(now)
	for more, pass := true, 0; more && pass < maxPasses; more, pass = c.nodes.gates.asked(), pass+1 { // what a node that is down gives back may ask for something else
		c.distribute()
		for _, n := range c.nodes.all {
			n.flush(now)
		}
		c.unassigned.answerUnsent(now)
	}
	c.closeUnused(now)
}

// moveNames brings what belongs to the names of moved hash slots to their new nodes: commands that have not left,
// channels, and word that their link is another, so that nothing which was confirmed by the old one is relied on.
func (c *cluster) moveNames(now gate.Time) {
	gates, routes := c.nodes.gates, c.nodes.routes
	if c.slots.NoneMoved() && !routes.unrouted {
		return
	}
	for _, n := range c.nodes.all {
		n.out.withdraw(&gates.fx, func(command *gate.Command) bool {
			return c.slots.Moved(command.Entry.Slot) && c.slots.Serves(command.Entry.Slot) != n
		})
	}
	routes.resubscribe()
	moved := func(entry *gate.Entry) bool { return c.slots.Moved(entry.Slot) }
	gates.reportLinkUp(now, func(entry *gate.Entry) bool {
		return moved(entry) && c.slots.Serves(entry.Slot).link.state == linkUp // else it will hear when it is
	})
	c.nodes.endFast(now, moved)
	c.slots.ClearMoved()
}

// closeUnused closes nodes that serve nothing any more and have nothing left to do.
func (c *cluster) closeUnused(now gate.Time) {
	ns := c.nodes
	for i := 0; i < len(ns.all); i++ {
		n := ns.all[i]
		if n.serves() || now-n.namedAt < lingerTime || !n.quiet() {
			continue
		}
		ns.cfg.Logger.Info("wheellock: node is not needed any more", n.where()...)
		if n.narrow {
			ns.cfg.Gate.Stats.Narrow.Dec()
		}
		ns.all = slices.Delete(ns.all, i, i+1)
		i--
		c.gone.Go(n.stop)
	}
}

// follow sends a command, which surely did not run, to the node that from has named. The command stays the name's one
// command in flight (invariant: one-command-per-name), and its machine sees nothing of the redirect.
func (c *cluster) follow(now gate.Time, from *node, command *gate.Command) {
	r, ok := topology.ReadRedirect(command.ServerMessage, from.addr)
	if !ok || command.Hops >= topology.MaxRedirects {
		command.Result = gate.Again
		c.survey.Request(now)
		c.nodes.gates.answer(now, command)
		return
	}
	var to *node
	if r.Ask { // once: the slot is still from's
		to = c.nodeAt(now, r.Addr)
	} else {
		to = c.learn(now, r)
	}
	sent := *command
	sent.Hops, sent.Asking = command.Hops+1, r.Ask
	sent.Epoch = c.nodes.gates.cfg.Epoch
	to.out.putAgain(sent)
}

// learn notes the node that serves a hash slot, as another node has said.
func (c *cluster) learn(now gate.Time, r topology.Redirect) *node {
	n := c.nodeAt(now, r.Addr)
	c.slots.Assign(r.Slot, n)
	c.survey.Request(now) // where one has moved, others may have
	return n
}

// reroute finds another node for a channel. Its node does not serve the channel, as message says, or has ended the
// subscription by itself, and message is empty.
func (c *cluster) reroute(now gate.Time, channel string, r route, message string) {
	move, moved := topology.ReadRedirect(message, r.node.addr)
	if moved && !move.Ask {
		c.learn(now, move)
	}
	r.hops++
	to := c.slots.Serves(r.entries[0].Slot)
	if r.hops > topology.MaxRedirects || message != "" && !moved {
		to, c.nodes.routes.unrouted = nil, true // until the next survey
		c.survey.Request(now)
	}
	r.subscribe(channel, to)
	c.nodes.routes.byChannel[channel] = r
}
