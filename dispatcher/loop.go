package dispatcher

import (
	"time"

	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/wheel/stall"
)

// loop is the goroutine of a dispatcher with what it owns: no other goroutine touches it, but for what says so.
type loop struct {
	cfg  Config
	mail *mailbox      // any goroutine puts; only the loop takes
	done chan struct{} // closed when the loop has ended

	// Its parts. Each knows those above it.
	gates     gates
	clock     turnClock
	acks      acks
	deadlines deadlines
	routes    routes
	nodes     nodes

	turnYield turnYield
	closing   bool
	closeBy   gate.Time
	draining  []chan struct{} // closed when nothing is held any more
}

// newLoop makes a loop without nodes, without what wakes it.
func newLoop(cfg Config) *loop {
	l := &loop{cfg: cfg, mail: newMailbox(), done: make(chan struct{})}
	l.gates = gates{cfg: cfg.Gate, hashed: cfg.Cluster != nil, names: newNames()}
	l.clock = turnClock{Clock: cfg.Clock}
	l.deadlines = deadlines{gates: &l.gates, clock: &l.clock, acks: &l.acks, lookAt: gate.Never, nearAt: gate.Never}
	l.deadlines.makeSlots()
	l.routes = routes{gates: &l.gates, home: l.nodes.home, heard: make(map[string]route)}
	l.nodes = nodes{cfg: &l.cfg, mail: l.mail, gates: &l.gates, routes: &l.routes}
	return l
}

// run takes turns until everything has ended. It returns only when every request it accepted has its answer.
func (l *loop) run() {
	defer close(l.done)
	mail := new(batch)
	for range l.mail.wake { // by an event, the waker, or the loop's own timer
		stall.At("dispatcher: woken", l.cfg.Gate.UUID)
		now := l.clock.beginTurn()
		stall.At("dispatcher: clock read, nothing due handled", l.cfg.Gate.UUID)
		if l.turnYield.before(now, l.deadlines.nearAt) {
			now = l.clock.Now()
		}
		l.deadlines.ringDue(now) // deadlines that are due come before mail (rule 19)
		mail = l.mail.take(mail)
		l.turnYield.after(now, len(mail.events))
		for i, e := range mail.events {
			if i%clockStride == clockStride-1 {
				now = l.clock.Now()
			}
			e.deliver(l, now)
		}
		now = l.clock.Now()
		stall.At("dispatcher: clock read, nothing sent", l.cfg.Gate.UUID)
		l.deadlines.ringDue(now)
		l.deadlines.giveUpDue(now)
		l.routes.listen()
		l.nodes.flush(now)
		l.settleAlarms(now)
		l.nodes.launch()
		if l.closing && l.finished() {
			l.end()
			return
		}
	}
}

// settleAlarms sets the alarms of what has changed in this turn, and forgets the entries that are idle.
func (l *loop) settleAlarms(now gate.Time) {
	for _, c := range l.gates.changed {
		c.Stepped = false
		if c.Machine.Idle() {
			l.deadlines.forget(c)
			l.gates.forget(c)
			continue
		}
		l.deadlines.schedule(c, now)
	}
	l.gates.changed = again(l.gates.changed)
	also := l.nodes.alarm()
	if l.closing {
		also = min(also, l.closeBy)
	}
	l.deadlines.aim(now, also)
	if len(l.draining) > 0 && l.cfg.Gate.Stats.Held.Load() == 0 {
		l.drained()
	}
}

// oldestQuery asks when the oldest living hold was granted: of one name, or of all.
type oldestQuery struct {
	name   string         // empty: all
	answer chan gate.Time // capacity 1
}

func (e oldestQuery) deliver(l *loop, _ gate.Time) {
	oldest := gate.Never
	if e.name == "" {
		for c := range l.gates.names.all() {
			oldest = min(oldest, c.Oldest())
		}
	} else if c := l.gates.names.find(e.name); c != nil {
		oldest = c.Oldest()
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

// closeTime bounds how long Close works on freeing keys: an uncertain acquire is settled after LateWindow.
const closeTime = gate.LateWindow + time.Second

func (closing) deliver(l *loop, now gate.Time) {
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

// end settles all that still wait, and stops what the dispatcher started.
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
	l.deadlines.timer.timer.Stop()
	l.nodes.stop()
}

func (l *loop) drained() {
	for _, drained := range l.draining {
		close(drained)
	}
	l.draining = nil
}
