package dispatcher

import (
	"sync"
	"time"

	"github.com/wheellock/wheellock/internal/gate"
)

// closeTime bounds how long Close works on freeing keys: an uncertain acquire is settled after LateWindow.
const closeTime = gate.LateWindow + time.Second

func (d *Dispatcher) close(now gate.Time) {
	if d.closing {
		return
	}
	// now may be long ago, when the loop stood still: the time is for what comes from here on.
	d.closing, d.closeBy = true, d.cfg.Clock.Now()+closeTime
	d.each(func(m gate.Machine) { m.Close(now, &d.fx) })
}

// finished reports whether nothing is left to free, or it is no use to try any longer. A connection that is still away when the
// time is over is cut off by the end of its node.
func (d *Dispatcher) finished() bool {
	if d.cfg.Clock.Now() >= d.closeBy {
		return true
	}
	down := true
	for _, n := range d.nodes {
		if n.busy() {
			return false
		}
		down = down && n.link.state == linkDown
	}
	return d.names.live == 0 || down
}

// end settles whoever still waits, and stops what the dispatcher started.
func (d *Dispatcher) end() {
	for c := range d.names.all() {
		c.Machine.Wake(gate.Centuries, &d.fx)
	}
	for _, e := range d.mail.shutDown() {
		if r, waits := e.(refusable); waits {
			r.refuse()
		}
	}
	d.drained()
	d.near.timer.Stop()
	if !d.waker.Close() {
		d.cfg.Logger.Warn("wheellock: a stuck timing wheel is left behind")
	}
	var nodes sync.WaitGroup
	for _, n := range d.nodes {
		nodes.Go(n.stop)
	}
	nodes.Wait()
	if d.cluster != nil {
		d.cluster.gone.Wait()
	}
}

func (d *Dispatcher) drained() {
	for _, drained := range d.draining {
		close(drained)
	}
	d.draining = nil
}
