package redistest

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/wheellock/wheellock/internal/testkit/resp"
)

// slots is the number of hash slots of every Redis Cluster.
const slots = 16384

// Cluster is a Redis Cluster on loopback. A node counts as failed after 1 s of silence; in a cluster without replicas,
// where nobody could take over, after 5 s: a busy machine can keep a node silent for a second.
type Cluster struct {
	Nodes []*Server // masters of the beginning first, then their replicas, master by master

	tb      testing.TB
	silence time.Duration      // after which a node counts as failed
	ids     map[*Server]string // CLUSTER MYID; never changes
}

// StartCluster runs so many masters with so many replicas each, the slots shared out evenly, and returns
// once every node finds the cluster whole. Redis lets a new master wait 2 s before that.
func StartCluster(tb testing.TB, masters, replicas int) *Cluster {
	tb.Helper()
	c := &Cluster{tb: tb, silence: 5 * time.Second, ids: make(map[*Server]string)}
	if replicas > 0 {
		c.silence = time.Second
	}
	for range masters * (1 + replicas) {
		c.startNode()
	}
	c.shareSlots(masters)
	c.introduce()
	for i, replica := range c.Nodes[masters:] {
		replica.MustDo("CLUSTER", "REPLICATE", c.ids[c.Nodes[i/replicas]])
	}
	c.AwaitOK()
	for i, replica := range c.Nodes[masters:] {
		replica.awaitSync(c.Nodes[i/replicas].server.Admin)
	}
	return c
}

// startNode starts a node that knows nobody yet.
func (c *Cluster) startNode() *Server {
	c.tb.Helper()
	node := Start(c.tb, "--cluster-enabled", "yes", "--cluster-port", strconv.Itoa(FreePort(c.tb)),
		"--cluster-node-timeout", strconv.FormatInt(c.silence.Milliseconds(), 10), "--cluster-replica-validity-factor", "0")
	c.Nodes = append(c.Nodes, node)
	c.ids[node] = node.MustDo("CLUSTER", "MYID").Text
	return node
}

// AddMaster starts one more master, which serves no slot yet, and returns once every node knows it.
func (c *Cluster) AddMaster() *Server {
	c.tb.Helper()
	node := c.startNode()
	node.MustDo("CLUSTER", "SET-CONFIG-EPOCH", strconv.Itoa(1000+len(c.Nodes))) // of its own
	c.introduce()
	c.AwaitOK()
	return node
}

// shareSlots gives the first nodes equal ranges, and to each an epoch of its own so that they need not
// find out whose word counts more.
func (c *Cluster) shareSlots(masters int) {
	c.tb.Helper()
	for i, node := range c.Nodes {
		node.MustDo("CLUSTER", "SET-CONFIG-EPOCH", strconv.Itoa(i+1))
		if i < masters {
			first, next := i*slots/masters, (i+1)*slots/masters
			node.MustDo("CLUSTER", "ADDSLOTSRANGE", strconv.Itoa(first), strconv.Itoa(next-1))
		}
	}
}

// introduce makes every node known to every other; left to gossip this takes seconds. Who stood still for a second forgets a handshake,
// so nodes that do not know each other are introduced again.
func (c *Cluster) introduce() {
	c.tb.Helper()
	nodes := slices.DeleteFunc(slices.Clone(c.Nodes), func(node *Server) bool { return !node.alive() })
	var met time.Time
	Await(c.tb, "cluster nodes that know each other", func() bool {
		if time.Since(met) > 3*time.Second {
			c.meet(nodes)
			met = time.Now()
		}
		return !slices.ContainsFunc(nodes, func(node *Server) bool {
			known := node.Do("CLUSTER", "NODES").Text
			return strings.Count(known, "\n") != len(c.Nodes) || strings.Contains(known, "handshake")
		})
	})
}

// meet has every node shake hands with every other that it does not know.
func (c *Cluster) meet(nodes []*Server) {
	c.tb.Helper()
	for i, node := range nodes {
		known := node.MustDo("CLUSTER", "NODES").Text
		for _, other := range nodes[i+1:] {
			if !strings.Contains(known, c.ids[other]) {
				bus := other.MustDo("CONFIG", "GET", "cluster-port").Fields()["cluster-port"]
				node.MustDo("CLUSTER", "MEET", "127.0.0.1", strconv.Itoa(other.server.Port), bus)
			}
		}
	}
}

// AwaitOK waits until every node that runs finds all slots served, such as after a master was killed.
func (c *Cluster) AwaitOK() {
	c.tb.Helper()
	Await(c.tb, "cluster_state:ok on every node", func() bool {
		ok := 0
		for _, node := range c.Nodes {
			if !node.alive() {
				continue
			}
			state := resp.InfoFields(node.Do("CLUSTER", "INFO").Text)
			if state["cluster_state"] != "ok" || state["cluster_slots_ok"] != strconv.Itoa(slots) {
				return false
			}
			ok++
		}
		return ok > 0
	})
}

// Failover has a replica take over from its master in good order, and returns once every node knows. Redis gives such an
// order up after 5 s; it is then given again. It is given when no node takes the replica for a master any more, as it may have been a moment ago:
// else the first election fails, and a second one follows within the 5 s although the master has gone on, so that writes are lost.
func (c *Cluster) Failover(replica *Server) {
	c.tb.Helper()
	var ordered time.Time
	Await(c.tb, "master in place of its own: "+replica.Addr(), func() bool {
		if readView(replica.Do("CLUSTER", "NODES").Text).self.master {
			return true
		}
		if time.Since(ordered) > 6*time.Second && !slices.ContainsFunc(c.Nodes, func(n *Server) bool { return n.alive() && c.takesForMaster(n, replica) }) {
			replica.Do("CLUSTER", "FAILOVER") // refused while it has no link to its master
			ordered = time.Now()
		}
		return false
	})
	c.AwaitOK()
}

// takesForMaster reports whether a node says that another is a master.
func (c *Cluster) takesForMaster(node, other *Server) bool {
	return slices.ContainsFunc(readView(node.Do("CLUSTER", "NODES").Text).every, func(m member) bool { return m.id == c.ids[other] && m.master })
}

// Addrs are the addresses of all nodes.
func (c *Cluster) Addrs() []string { return addrs(c.Nodes) }

// Slot is the hash slot of a key.
func (c *Cluster) Slot(key string) int {
	c.tb.Helper()
	return int(c.Nodes[0].MustDo("CLUSTER", "KEYSLOT", key).Int)
}

// NodeOf is the running master that says of itself that it serves the slot; of two, the one with the
// higher epoch, whom the others will believe.
func (c *Cluster) NodeOf(slot int) *Server {
	c.tb.Helper()
	var owner *Server
	best := int64(-1)
	for _, node := range c.Nodes {
		if !node.alive() {
			continue
		}
		view := readView(node.Do("CLUSTER", "NODES").Text)
		if epoch := view.self.epoch; view.self.serves(slot) && epoch > best {
			owner, best = node, epoch
		}
	}
	if owner == nil {
		c.tb.Fatalf("redistest: no node serves slot %d", slot)
	}
	return owner
}

// view is what one node knows of the cluster.
type view struct {
	self  member
	every []member
}

// member is one line of CLUSTER NODES.
type member struct {
	id     string
	master bool
	epoch  int64
	ranges [][2]int // slots it serves, both ends included
}

func (m member) serves(slot int) bool {
	return m.master && slices.ContainsFunc(m.ranges, func(r [2]int) bool { return r[0] <= slot && slot <= r[1] })
}

// readView reads CLUSTER NODES: id, address, flags, master, ping, pong, epoch, link, then slots as "7",
// "0-99", or in brackets for one that is being moved.
func readView(text string) view {
	var v view
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) < 8 {
			continue
		}
		flags := strings.Split(words[2], ",")
		m := member{id: words[0], master: slices.Contains(flags, "master")}
		m.epoch, _ = strconv.ParseInt(words[6], 10, 64) // Redis always writes a number
		for _, word := range words[8:] {
			from, to, isRange := strings.Cut(word, "-")
			if !isRange {
				to = from
			}
			first, err := strconv.Atoi(from)
			last, err2 := strconv.Atoi(to)
			if err == nil && err2 == nil {
				m.ranges = append(m.ranges, [2]int{first, last})
			}
		}
		v.every = append(v.every, m)
		if slices.Contains(flags, "myself") {
			v.self = m
		}
	}
	return v
}
