package dispatcher

import (
	"math/rand/v2"
	"time"

	"github.com/wheellock/wheellock/internal/gate"
)

// linkState is what is known of the connection.
type linkState uint8

const (
	linkUp    linkState = iota
	linkShaky           // it broke just now; commands wait for the first probe
	linkDown            // a probe failed; commands are answered NotSent at once
)

// link watches the connection to a node. It is owned by loop.
type link struct {
	state   linkState // change it by node.become
	probing bool
	tries   int
	probeAt gate.Time // when to probe next; Never: not at all. Set while a probe is out: its answer does not count
	upAt    gate.Time // when it was last found to work; before the first time long ago
	outage  outage
}

const (
	// steady is how long a connection lasts that is made again at once when it breaks.
	steady = time.Second
	// flaps bounds the pauses, at 160 ms, before one is made again that breaks sooner: a server that answers probes and
	// cuts what comes then is not asked at full speed.
	flaps = 4
)

func (n *node) become(s linkState) {
	n.link.state = s
	n.d.updateHealth()
}

// updateHealth notes whether all links work.
func (d *Dispatcher) updateHealth() {
	up := d.cluster == nil || d.cluster.unassigned.slots == 0
	for _, n := range d.nodes {
		up = up && (n.link.state == linkUp || n.slots == 0)
	}
	d.up.Store(up)
}

// Up reports whether the link works, in a cluster those to all nodes that serve anything, as far as is known. Any
// goroutine.
func (d *Dispatcher) Up() bool { return d.up.Load() }

// linkBroke is a batch that came back with a broken connection.
func (n *node) linkBroke(now gate.Time, err error) {
	d := n.d
	if n.link.state != linkUp {
		return
	}
	d.cfg.Gate.Epoch++ // what was confirmed before is not handed on (rule 8)
	n.become(linkShaky)
	if n.link.probeAt = now; now-n.link.upAt >= steady {
		n.link.tries = 0
	} else {
		n.link.probeAt += pauseBefore(n.link.tries)
		n.link.tries = min(n.link.tries+1, flaps)
	}
	for _, l := range n.idle {
		l.dedicated.stale = true
	}
	if d.cluster != nil {
		d.cluster.survey.hurry(now)
	}
	n.link.outage.failure(d.cfg.Logger, "wheellock: connection to Redis broke", n.where("error", err)...)
}

// probe sends a probe on an idle connection when it is time.
func (n *node) probe(now gate.Time) {
	if n.link.probing || now < n.link.probeAt || len(n.idle) == 0 {
		return
	}
	l := n.lend()
	n.link.probing, n.link.probeAt = true, gate.Never
	l.task, l.askTime = probing, true
	l.work <- struct{}{}
}

// probed is the answer to a probe. When another probe was asked for meanwhile, this one may have gone to a server that is
// not the master any more, and says nothing.
func (n *node) probed(now gate.Time, err error) {
	d := n.d
	n.link.probing = false
	if n.subscriber == nil && n.client != nil {
		n.listen()
	}
	if n.link.probeAt != gate.Never {
		return
	}
	if !alive(err) {
		n.link.outage.failure(d.cfg.Logger, "wheellock: Redis cannot be reached", n.where("error", err)...)
		n.become(linkDown)
		n.link.probeAt = now + pauseBefore(n.link.tries)
		n.link.tries++
		return
	}
	n.link.outage.over(d.cfg.Logger, "wheellock: Redis can be reached again", n.where()...)
	n.become(linkUp)
	n.link.probeAt, n.link.upAt = gate.Never, now
	d.linkUp(now, func(c *gate.Entry) bool { return d.home(c.Slot) == n })
}

// where says to a logger which node it is about.
func (n *node) where(besides ...any) []any {
	if n.addr == "" {
		return besides
	}
	return append(besides, "node", n.addr)
}

// pauseBefore is how long to wait before the next probe: 10 ms doubling to 1 s, half of it random.
func pauseBefore(tries int) time.Duration {
	full := min(10*time.Millisecond<<min(tries, 10), time.Second)
	return full/2 + time.Duration(rand.Int64N(int64(full/2)))
}
