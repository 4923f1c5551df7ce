package dispatcher

import (
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/dispatcher/reconnect"
	"github.com/wheellock/wheellock/dispatcher/redisconn"
	"github.com/wheellock/wheellock/dispatcher/topology"
	"github.com/wheellock/wheellock/internal/gate"
)

// Cluster is what a Dispatcher needs of a Redis Cluster.
type Cluster struct {
	Connect func(addr string) (rueidis.Client, error) // a client of that node alone, also one that could not dial yet
	Seeds   []string                                  // addresses to ask when no node that is known can be reached
	Map     *topology.Map
	Reached []Reached // nodes of it that are connected already; their clients are the dispatcher's from then on
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
	slots      *topology.Table[*node] // those that have moved: their names have not been told of their new node
	unrouted   bool                   // some channels have no node
	unassigned *node                  // serves what nobody serves: it is down for ever
	survey     topology.Survey
	outage     reconnect.Outage // of the survey
	turn       int              // which node to ask next: one node may know less than another
	gone       sync.WaitGroup   // of nodes that are being closed
}

// lingerTime is how long a node that serves nothing is kept after its last use: one that takes over its first slot
// is asked again and again.
const lingerTime = 10 * time.Second

// join makes the nodes of a cluster.
func (d *Dispatcher) join(c *Cluster) {
	unassigned := &node{d: d, link: link{state: linkDown, probeAt: gate.Never}}
	unassigned.out.commands = new([gate.Ops][]gate.Command)
	d.cluster = &cluster{Cluster: c, slots: topology.NewTable(unassigned), unassigned: unassigned, survey: topology.NewSurvey()}
	for _, r := range c.Reached {
		d.nodes = append(d.nodes, newNode(d, r.Addr, r.Client, r.Loaded))
	}
	now := d.cfg.Clock.Now()
	d.adopt(now, c.Map)
	d.cluster.slots.Settle()
	if d.partlyDown() {
		d.cluster.survey.Hurry(now)
	}
}

// partlyDown reports whether some hash slot is served by no node that can be reached.
func (d *Dispatcher) partlyDown() bool {
	for _, n := range d.nodes {
		if n.serves() && n.link.state != linkUp {
			return true
		}
	}
	return d.cluster.unassigned.serves()
}

// home is the node that serves a hash slot.
func (d *Dispatcher) home(slot uint16) *node {
	if d.cluster == nil {
		return d.nodes[0]
	}
	return d.cluster.slots.Serves(slot)
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

// adopt takes over who serves what. Hash slots that the map does not mention stay where they were.
func (d *Dispatcher) adopt(now gate.Time, m *topology.Map) {
	for _, r := range m.Ranges {
		n := d.nodeAt(now, r.Addr)
		for slot := r.First; slot <= r.Last; slot++ {
			d.cluster.slots.Give(slot, n)
		}
	}
	d.updateHealth()
}

// share puts what the machines asked for into the outboxes of the nodes that serve the names.
func (d *Dispatcher) share() {
	for op := range d.fx.Commands {
		queue := d.fx.Commands[op]
		for i := range queue {
			d.cluster.slots.Serves(queue[i].Entry.Slot).out.put(&queue[i])
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
	if c.slots.Settled() && !c.unrouted {
		return
	}
	for _, n := range d.nodes {
		n.out.withdraw(&d.fx, func(command *gate.Command) bool {
			return c.slots.Moved(command.Entry.Slot) && c.slots.Serves(command.Entry.Slot) != n
		})
	}
	c.unrouted = false
	d.retune()
	d.linkUp(now, func(entry *gate.Entry) bool {
		return c.slots.Moved(entry.Slot) && c.slots.Serves(entry.Slot).link.state == linkUp // else it will hear when it is
	})
	c.slots.Settle()
}

// dismiss closes nodes that serve nothing any more and have nothing left to do.
func (d *Dispatcher) dismiss(now gate.Time) {
	c := d.cluster
	for i := 0; i < len(d.nodes); i++ {
		n := d.nodes[i]
		if n.serves() || n.usedAt >= c.survey.LastAnswer() || n.link.state == linkUp && now-n.usedAt < lingerTime || !n.quiet() {
			continue
		}
		d.cfg.Logger.Info("wheellock: node left the cluster", "node", n.addr)
		d.nodes = append(d.nodes[:i], d.nodes[i+1:]...)
		i--
		c.gone.Go(n.stop)
	}
}
