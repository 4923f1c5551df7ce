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
	l.routes = routes{gates: &l.gates, home: l.nodes.home, byChannel: make(map[string]route)}
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
		if l.turnYield.yield(now, l.deadlines.nearAt) {
			now = l.clock.Now()
		}
		l.deadlines.wakeDue(now) // deadlines that are due come before mail (invariant: clock-counts-suspension)
		mail = l.mail.take(mail)
		l.turnYield.learn(now, len(mail.events))
		for i, e := range mail.events {
			if i%clockStride == clockStride-1 {
				now = l.clock.Now()
			}
			e.deliver(l, now)
		}
		now = l.clock.Now()
		stall.At("dispatcher: clock read, nothing sent", l.cfg.Gate.UUID)
		l.deadlines.wakeDue(now)
		l.deadlines.giveUpDue(now)
		l.routes.applySubscriptions()
		l.nodes.flush(now)
		l.setAlarms(now)
		l.nodes.sendOff()
		if l.closing && l.finished() {
			l.end()
			return
		}
	}
}

// setAlarms sets the alarms of what has changed in this turn, and forgets the entries that are idle.
func (l *loop) setAlarms(now gate.Time) {
	for _, e := range l.gates.changed {
		e.Stepped = false
		if e.Machine.Idle() {
			l.deadlines.forget(e)
			l.gates.forget(e)
			continue
		}
		l.deadlines.schedule(e, now)
	}
	l.gates.changed = again(l.gates.changed)
	also := l.nodes.alarm()
	if l.closing {
		also = min(also, l.closeBy)
	}
	l.deadlines.setTimer(now, also)
	if len(l.draining) > 0 && l.cfg.Gate.Stats.Held.Load() == 0 {
		l.drained()
	}
}

// oldestQuery asks when the oldest living hold was granted: of one name, or of all.
type oldestQuery struct {
	name   string         // empty: all
	answer chan gate.Time // capacity 1
}

func (o oldestQuery) deliver(l *loop, _ gate.Time) {
	oldest := gate.Never
	if o.name == "" {
		for e := range l.gates.names.all() {
			oldest = min(oldest, e.Machine.Oldest())
		}
	} else if e := l.gates.names.find(o.name); e != nil {
		oldest = e.Machine.Oldest()
	}
	o.answer <- oldest
}

func (o oldestQuery) refuse() { o.answer <- gate.Never }

// drain turns every waiter away.
type drain struct{ drained chan struct{} } // closed when nothing is held any more

func (d drain) deliver(l *loop, now gate.Time) {
	l.draining = append(l.draining, d.drained)
	l.gates.visit(nil, func(m gate.Machine) { m.Drain(now, &l.gates.fx) })
}

func (d drain) refuse() { close(d.drained) }

// closing ends every wait and hold, and then the loop.
type closing struct{}

// CloseTime bounds how long Close works on freeing keys: an uncertain acquire is settled after LateWindow.
const CloseTime = gate.LateWindow + time.Second

func (closing) deliver(l *loop, now gate.Time) {
	if l.closing {
		return
	}
	// now may be long ago, when the loop stood still: the time is for what comes from here on.
	l.closing, l.closeBy = true, l.cfg.Clock.Now()+CloseTime
	l.gates.visit(nil, func(m gate.Machine) { m.Close(now, &l.gates.fx) })
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
	for e := range l.gates.names.all() {
		e.Machine.Wake(gate.Centuries, &l.gates.fx)
	}
	for _, event := range l.mail.shutDown() {
		if r, waits := event.(refusable); waits {
			r.refuse()
		}
	}
	l.nodes.up.Store(false)
	l.drained()
	l.deadlines.timer.timer.Stop()
	l.nodes.stop()
	if !l.deadlines.waker.Close() {
		l.cfg.Logger.Warn("wheellock: a stuck timing wheel is left behind")
	}
}

func (l *loop) drained() {
	for _, drained := range l.draining {
		close(drained)
	}
	l.draining = nil
}
