package dispatcher

import (
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/internal/gate"
	"github.com/wheellock/wheellock/scripts"
)

// Cluster is what a Dispatcher needs of a Redis Cluster.
type Cluster struct {
	Connect  func(addr string) (rueidis.Client, error) // a client of that node alone, also one that could not dial yet
	Seeds    []string                                  // addresses to ask when no node that is known can be reached
	Topology *Topology
	Reached  []Reached // nodes of it that are connected already; their clients are the dispatcher's from then on
}

// Reached is a node that has the scripts.
type Reached struct {
	Addr   string
	Client rueidis.Client
	Loaded *Loaded
}

// cluster is which node serves a hash slot, as far as is known. The loop owns it. A single server has none.
type cluster struct {
	*Cluster
	serves     [scripts.HashSlots]*node
	moved      map[uint16]bool // hash slots whose names have not been told of their new node
	unrouted   bool            // some channels have no node
	unassigned *node           // serves what nobody serves: it is down for ever
	survey     survey
	gone       sync.WaitGroup // of nodes that are being closed
}

// lingerTime is how long a node that serves nothing is kept after its last use: one that takes over its first slot
// is asked again and again.
const lingerTime = 10 * time.Second

// join makes the nodes of a cluster.
func (d *Dispatcher) join(c *Cluster) {
	d.cluster = &cluster{Cluster: c, moved: make(map[uint16]bool), unassigned: &node{d: d}}
	d.cluster.unassigned.out.commands = new([gate.Ops][]gate.Command)
	d.cluster.unassigned.link = link{state: linkDown, probeAt: gate.Never}
	d.cluster.survey.dueAt = gate.Never
	for slot := range d.cluster.serves {
		d.cluster.serves[slot] = d.cluster.unassigned
	}
	d.cluster.unassigned.slots = scripts.HashSlots
	for _, r := range c.Reached {
		d.nodes = append(d.nodes, newNode(d, r.Addr, r.Client, r.Loaded))
	}
	now := d.cfg.Clock.Now()
	d.adopt(now, c.Topology)
	clear(d.cluster.moved)
	if d.ill() {
		d.cluster.survey.hurry(now)
	}
}

// home is the node that serves a hash slot.
func (d *Dispatcher) home(slot uint16) *node {
	if d.cluster == nil {
		return d.nodes[0]
	}
	return d.cluster.serves[slot]
}

// nodeAt is the node at an address, made when it was not known.
func (d *Dispatcher) nodeAt(now gate.Time, addr string) *node {
	for _, n := range d.nodes {
		if n.addr == addr {
			return n
		}
	}
	n := newNode(d, addr, nil, nil)
	n.usedAt = now
	d.nodes = append(d.nodes, n)
	return n
}

// give lets a node serve a hash slot.
func (c *cluster) give(slot uint16, n *node) {
	old := c.serves[slot]
	if old == n {
		return
	}
	old.slots--
	n.slots++
	c.serves[slot] = n
	c.moved[slot] = true
}

// adopt takes over who serves what. Who served what it does not mention goes on.
func (d *Dispatcher) adopt(now gate.Time, t *Topology) {
	for _, p := range t.parts {
		n := d.nodeAt(now, p.addr)
		for slot := p.first; slot <= p.last; slot++ {
			d.cluster.give(uint16(slot), n)
		}
	}
	d.updateHealth()
}

// share puts what the machines asked for into the outboxes of the nodes that serve the names.
func (d *Dispatcher) share() {
	for op := range d.fx.Commands {
		queue := d.fx.Commands[op]
		for i := range queue {
			d.cluster.serves[queue[i].Entry.Slot].out.put(&queue[i])
		}
		d.fx.Commands[op] = again(queue)
	}
}

// asked reports whether machines have asked for anything that is in no outbox.
func (d *Dispatcher) asked() bool {
	for op := range d.fx.Commands {
		if len(d.fx.Commands[op]) > 0 {
			return true
		}
	}
	return false
}

// resettle brings what belongs to the names of moved hash slots to their new nodes: commands that have not left,
// channels, and word that their link is another, so that nothing which was confirmed by the old one is relied on.
func (d *Dispatcher) resettle(now gate.Time) {
	c := d.cluster
	if len(c.moved) == 0 && !c.unrouted {
		return
	}
	for _, n := range d.nodes {
		n.out.withdraw(&d.fx, func(command *gate.Command) bool {
			return c.moved[command.Entry.Slot] && c.serves[command.Entry.Slot] != n
		})
	}
	c.unrouted = false
	d.retune()
	d.linkUp(now, func(entry *gate.Entry) bool {
		return c.moved[entry.Slot] && c.serves[entry.Slot].link.state == linkUp // else it will hear when it is
	})
	clear(c.moved)
}

// dismiss closes nodes that serve nothing any more and have nothing left to do.
func (d *Dispatcher) dismiss(now gate.Time) {
	c := d.cluster
	for i := 0; i < len(d.nodes); i++ {
		n := d.nodes[i]
		if n.slots > 0 || n.usedAt >= c.survey.answered || n.link.state == linkUp && now-n.usedAt < lingerTime || !n.quiet() {
			continue
		}
		d.cfg.Logger.Info("wheellock: node left the cluster", "node", n.addr)
		d.nodes = append(d.nodes[:i], d.nodes[i+1:]...)
		i--
		c.gone.Go(n.stop)
	}
}
