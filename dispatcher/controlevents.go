package dispatcher

import "github.com/wheellock/wheellock/internal/gate"

// oldestQuery asks when the oldest living hold was granted: of one name, or of all.
type oldestQuery struct {
	name   string         // empty: all
	answer chan gate.Time // capacity 1
}

func (e oldestQuery) deliver(l *loop, _ gate.Time) {
	oldest := gate.Never
	if e.name != "" {
		if c := l.gates.names.find(e.name); c != nil {
			oldest = c.Oldest()
		}
		e.answer <- oldest
		return
	}
	for c := range l.gates.names.all() {
		oldest = min(oldest, c.Oldest())
	}
	e.answer <- oldest
}

func (e oldestQuery) refuse() { e.answer <- gate.Never }

// drain turns every waiter away.
type drain struct{ drained chan struct{} } // closed when nothing is held any more

func (e drain) deliver(l *loop, now gate.Time) {
	l.draining = append(l.draining, e.drained)
	l.gates.each(func(m gate.Machine) { m.Drain(now, &l.gates.fx) })
}

func (e drain) refuse() { close(e.drained) }

// closing ends every wait and hold, and then the loop.
type closing struct{}

func (closing) deliver(l *loop, now gate.Time) { l.close(now) }
