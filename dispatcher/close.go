package dispatcher

import (
	"time"

	"github.com/wheellock/wheellock/internal/gate"
)

// closeTime bounds how long Close works on freeing keys: an uncertain acquire is settled after LateWindow.
const closeTime = gate.LateWindow + time.Second

func (l *loop) close(now gate.Time) {
	if l.closing {
		return
	}
	// now may be long ago, when the loop stood still: the time is for what comes from here on.
	l.closing, l.closeBy = true, l.cfg.Clock.Now()+closeTime
	l.gates.each(func(m gate.Machine) { m.Close(now, &l.gates.fx) })
}

// finished reports whether nothing is left to free, or it is no use to try any longer. A connection that is still away when the
// time is over is cut off by the end of its node.
func (l *loop) finished() bool {
	if l.cfg.Clock.Now() >= l.closeBy {
		return true
	}
	if l.nodes.busy() {
		return false
	}
	return l.gates.names.live == 0 || l.nodes.down()
}

// end settles whoever still waits, and stops what the dispatcher started.
func (l *loop) end() {
	for c := range l.gates.names.all() {
		c.Machine.Wake(gate.Centuries, &l.gates.fx)
	}
	for _, e := range l.mail.shutDown() {
		if r, waits := e.(refusable); waits {
			r.refuse()
		}
	}
	l.nodes.up.Store(false)
	l.drained()
	l.deadlines.near.timer.Stop()
	l.nodes.stop()
}

func (l *loop) drained() {
	for _, drained := range l.draining {
		close(drained)
	}
	l.draining = nil
}
