package dispatcher

import (
	"slices"

	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/dispatcher/reconnect"
	"github.com/wheellock/wheellock/dispatcher/redisconn"
	"github.com/wheellock/wheellock/dispatcher/rediserr"
	"github.com/wheellock/wheellock/dispatcher/topology"
)

// linkState is what is known of the link to a node.
type linkState uint8

const (
	linkUp    linkState = iota
	linkShaky           // it broke just now; commands wait for the first probe
	linkDown            // a probe failed; commands are answered NotSent at once
)

// link watches whether a node can be reached. The loop owns it.
type link struct {
	state     linkState // change it by node.setLink
	probing   bool
	tries     int
	probeAt   gate.Time // when to probe next; Never: not at all. Set while a probe is out: its answer does not count
	upAt      gate.Time // when it was last found to work; before the first time long ago
	switched  bool      // another server has become the master since it was up
	silent    bool      // linkShaky: it broke because nothing had come for too long, as from a server that stands still
	cause     string    // outOfReach: why, for the callers
	demotions int       // how often in a row the server was found to be a replica
	outage    reconnect.Outage
}

// outOfReach reports whether calls that need not wait for the link fail at once.
func (l *link) outOfReach() bool { return l.state == linkDown || l.state == linkShaky && l.silent }

// probeSoon has the next probe come within 160 ms, because somebody is turned away meanwhile.
func (l *link) probeSoon(now gate.Time) {
	if l.probeAt != gate.Never {
		l.probeAt = min(l.probeAt, now+reconnect.Pause(reconnect.Flaps))
	}
}

func (n *node) setLink(s linkState) {
	n.link.state = s
	n.nodes.updateHealth()
}

// breakLink notes that a batch came back with a broken connection.
func (n *node) breakLink(now gate.Time, err error) {
	cfg := n.nodes.cfg
	if n.link.state != linkUp {
		return
	}
	cfg.Gate.Epoch++ // what was confirmed before is not handed on (invariant: handoff-only-while-fresh)
	n.link.silent, n.link.cause, n.link.switched = rediserr.IsSilent(err), rediserr.Text(err), false
	n.nearest = 0
	n.setLink(linkShaky)
	if n.link.silent {
		n.endFast(now)
	}
	if n.link.probeAt = now; now-n.link.upAt >= reconnect.Steady {
		n.link.tries = 0
	} else {
		n.link.probeAt += reconnect.Pause(n.link.tries)
		n.link.tries = min(n.link.tries+1, reconnect.Flaps)
	}
	n.markStale()
	if n.nodes.cluster != nil {
		n.nodes.cluster.survey.SetDue(now)
	}
	n.link.outage.Failed(cfg.Logger, "wheellock: connection to Redis broke", n.where("error", n.link.cause)...)
}

// markStale has the connections that are not away made anew.
func (n *node) markStale() {
	for _, c := range n.idle {
		c.MarkStale()
		c.stands = false
	}
}

// endFast answers those that do not wait while the node is out of reach, which it has turned out to be.
func (n *node) endFast(now gate.Time) {
	n.nodes.endFast(now, n.nodes.servedBy(n))
	n.nodes.cfg.Down()
}

// probe sends a probe on an idle connection when it is time.
func (n *node) probe(now gate.Time) {
	if n.link.probing || now < n.link.probeAt || len(n.idle) == 0 {
		return
	}
	c := n.lend()
	n.link.probing, n.link.probeAt = true, gate.Never
	c.Task = redisconn.Probe
	c.Start()
}

// probed is the answer to a probe. When another probe was asked for meanwhile, this one may have gone to a server that is
// not the master any more, and says nothing.
func (n *node) probed(now gate.Time, err error) {
	logger := n.nodes.cfg.Logger
	n.link.probing = false
	if n.subscriber == nil && n.server.Client != nil { // the probe has made it
		n.startSubscriber()
		n.nodes.routes.subscribeAt(n)
	}
	if n.link.probeAt != gate.Never {
		return
	}
	if !rediserr.Alive(err) {
		n.breakLink(now, err) // if it was up until now
		n.link.cause = rediserr.Text(err)
		if n.link.state == linkShaky && !rediserr.IsSilent(err) && n.probeOther(now) {
			return
		}
		n.markStale()
		n.link.outage.Failed(logger, "wheellock: Redis cannot be reached", n.where("error", n.link.cause)...)
		known := n.link.outOfReach()
		n.setLink(linkDown)
		if !known {
			n.endFast(now)
		}
		n.link.probeAt = now + reconnect.Pause(n.link.tries)
		n.link.tries++
		return
	}
	if n.link.state == linkUp {
		return
	}
	if err != nil { // it lets nobody in any more
		n.keep()
	}
	n.link.outage.Ended(logger, "wheellock: Redis can be reached again", n.where()...)
	n.setLink(linkUp)
	n.link.probeAt, n.link.upAt = gate.Never, now
	n.nodes.gates.reportLinkUp(now, n.nodes.servedBy(n))
}

// probeOther has a connection that stands probed next. One that is away is probed if it comes back whole. False: none stands.
func (n *node) probeOther(now gate.Time) bool {
	switch {
	case n.keep():
		n.link.probeAt = now
	case slices.ContainsFunc(n.all, func(c *connection) bool { return c.stands }):
		n.link.probeAt = now + reconnect.Pause(0)
	default:
		return false
	}
	return true
}

// linkQuery asks whether the node of a hash slot is known not to be reachable.
type linkQuery struct {
	slot uint16
	down chan bool // capacity 1
}

func (l linkQuery) deliver(of *loop, _ gate.Time) {
	l.down <- of.nodes.home(l.slot).link.outOfReach()
}

func (l linkQuery) refuse() { l.down <- false }

// switched is another server being the master: everything is verified there, and listened to.
func (n *node) switched(now gate.Time) {
	n.breakLink(now, topology.ErrSwitched)
	n.link.switched, n.link.probeAt = true, now
	n.subscriber.Move()
}

// mostDemotions bounds how the pauses of demoted grow: to a minute.
const mostDemotions = 6

// demoted is the server being a replica. Its address may lead to the master by now, as a name or a proxy does that follows a failover, and
// the connections to the replica would last. One that stays a replica is left after 1 s, 2 s, 4 s and so on.
func (n *node) demoted(now gate.Time) {
	lasted := now - n.link.upAt
	if n.nodes.cluster != nil || n.link.state != linkUp || lasted < reconnect.Steady<<n.link.demotions {
		return
	}
	n.link.demotions = min(n.link.demotions+1, mostDemotions)
	if lasted > reconnect.Steady<<(mostDemotions+1) { // it was a master in between
		n.link.demotions = 0
	}
	n.switched(now)
}
