package dispatcher

import (
	"math/rand/v2"
	"sync/atomic"
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

// link watches the connection to a node. It is owned by loop, but for up, which anybody may read.
type link struct {
	state   linkState // change it by become
	up      atomic.Bool
	probing bool
	tries   int
	probeAt gate.Time // when to probe next; Never: not at all
}

func (l *link) become(s linkState) {
	l.state = s
	l.up.Store(s == linkUp)
}

// Up reports whether the link works, as far as is known. Any goroutine.
func (d *Dispatcher) Up() bool { return d.nodes[0].link.up.Load() }

// linkBroke is a batch that came back with a broken connection.
func (n *node) linkBroke(now gate.Time, err error) {
	d := n.d
	if n.link.state != linkUp {
		return
	}
	d.cfg.Gate.Epoch++ // what was confirmed before is not handed on (rule 8)
	n.link.become(linkShaky)
	n.link.tries, n.link.probeAt = 0, now
	d.cfg.Logger.Warn("wheellock: connection to Redis broke", "error", err)
}

// probe sends a probe on an idle lane when it is time.
func (n *node) probe(now gate.Time) {
	if n.link.probing || now < n.link.probeAt || len(n.idle) == 0 {
		return
	}
	l := n.lend()
	n.link.probing, n.link.probeAt = true, gate.Never
	l.probing, l.askTime = true, true
	l.work <- struct{}{}
}

// probed is the answer to a probe.
func (n *node) probed(now gate.Time, err error) {
	d := n.d
	n.link.probing = false
	if !alive(err) {
		if n.link.state == linkShaky {
			d.cfg.Logger.Warn("wheellock: Redis cannot be reached", "error", err)
		}
		n.link.become(linkDown)
		n.link.probeAt = now + pauseBefore(n.link.tries)
		n.link.tries++
		return
	}
	if n.link.state == linkDown {
		d.cfg.Logger.Info("wheellock: Redis can be reached again")
	}
	n.link.become(linkUp)
	n.link.probeAt = gate.Never
	d.each(func(m gate.Machine) { m.LinkUp(now, &d.fx) })
}

// pauseBefore is how long to wait before the next probe: 10 ms doubling to 1 s, half of it random.
func pauseBefore(tries int) time.Duration {
	full := min(10*time.Millisecond<<min(tries, 10), time.Second)
	return full/2 + time.Duration(rand.Int64N(int64(full/2)))
}
