package dispatcher

import (
	"fmt"
	"runtime/debug"
	"time"

	"go.uber.org/atomic"

	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/wheel/stall"
)

// loop is the goroutine of a dispatcher with what it owns: only who takes a turn touches it, but for what says so.
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

	turns     turnMutex // of the goroutine that takes a turn: it guards all that the loop owns
	direct    direct
	delivered *batch // by the turn before
	turnYield turnYield
	closing   bool
	closeBy   gate.Time
	draining  []chan struct{} // closed when nothing is held any more
}

// newLoop makes a loop without nodes, without what wakes it.
func newLoop(cfg Config) *loop {
	l := &loop{cfg: cfg, mail: newMailbox(), done: make(chan struct{}), delivered: new(batch), turns: make(turnMutex, 1)}
	l.mail.turn = l.takeTurnHere
	l.direct.on.Store(true)
	l.gates = gates{cfg: cfg.Gate, hashed: cfg.Cluster != nil, names: newNames()}
	l.clock = turnClock{Clock: cfg.Clock}
	l.deadlines = deadlines{gates: &l.gates, clock: &l.clock, acks: &l.acks, lookAt: gate.Never, nearAt: gate.Never}
	l.deadlines.makeSlots()
	l.routes = routes{gates: &l.gates, home: l.nodes.home, byChannel: make(map[string]route)}
	l.nodes = nodes{cfg: &l.cfg, mail: l.mail, gates: &l.gates, routes: &l.routes}
	return l
}

// run takes the turns that nobody else takes, until everything has ended. It returns only when every request that was accepted has its answer.
func (l *loop) run() {
	defer close(l.done)
	for ended := false; !ended; {
		<-l.mail.wake // by an event, the waker, or the loop's own timer
		l.turns.begin()
		ended = l.takeTurn(true)
		l.turns.end()
	}
}

// takeTurnHere takes a turn on the goroutine that has put the first event into the mailbox, or wakes the loop. A call of a lone caller then passes
// two goroutines, its own and that of a connection. While many names are on their way the loop takes the turns: what comes until it is awake
// makes one batch.
func (l *loop) takeTurnHere() {
	if !l.direct.on.Load() || !l.turns.tryToBegin() {
		l.mail.wakeUp()
		return
	}
	defer endProcess()
	ended := l.closing
	if !ended {
		l.takeTurn(false)
		ended = l.closing
	}
	l.turns.end()
	if ended { // the end waits for the goroutines of connections, of which this may be one
		l.mail.wakeUp()
	}
}

// turnMutex is a mutex with capacity 1. It is no sync.Mutex, because in a synctest bubble the wait for one stops the clock, for which a goroutine that is
// delayed in its turn waits.
type turnMutex chan struct{}

func (t turnMutex) begin() { t <- struct{}{} }

func (t turnMutex) end() { <-t }

func (t turnMutex) tryToBegin() bool {
	select {
	case t <- struct{}{}:
		return true
	default:
		return false
	}
}

// endProcess ends the process if there is a panic, as on a goroutine of our own. A caller may recover, as net/http does, and nobody could take a turn
// any more.
func endProcess() {
	if r := recover(); r != nil {
		stack := debug.Stack()
		go func() { panic(fmt.Sprintf("%v\n\n%s", r, stack)) }()
		select {}
	}
}

// takeTurn handles all that has come, and what is due. The caller has l.turns. byLoop: it is the loop, which may end everything; ended says that
// it has.
func (l *loop) takeTurn(byLoop bool) (ended bool) {
	stall.At("dispatcher: woken", l.cfg.Gate.UUID)
	now := l.clock.beginTurn()
	stall.At("dispatcher: clock read, nothing due handled", l.cfg.Gate.UUID)
	if byLoop {
		now = l.turnYield.yield(now, l.deadlines.nearAt, l.clock.Now)
	}
	l.deadlines.wakeDue(now) // deadlines that are due come before mail (invariant: clock-counts-suspension)
	l.delivered = l.mail.take(l.delivered)
	mail := l.delivered.events
	if byLoop {
		l.turnYield.learn(now, len(mail))
	}
	for i, e := range mail {
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
	l.direct.learn(l.nodes.names, l.nodes.near)
	l.nodes.sendOff()
	if byLoop && l.closing && l.finished() {
		l.end()
		return true
	}
	return false
}

// direct decides whether turns are taken by others than the loop: while few names are on their way.
type direct struct {
	on   atomic.Bool
	peak float64 // of the names on their way, which fades
}

const (
	// fewNames is how many names may be on their way to a Redis that is near. A call to another one waits for the network, not for goroutines. There
	// the loop takes the turns from two names on: its batches need half to three quarters of the processor's time.
	fewNames = 8
	// oneName is between one name and two: a peak of two fades towards one, and does not reach it.
	oneName = 1.5
	// nearby is the round trip to a Redis that is near: on this machine.
	nearby = 100 * time.Microsecond
	// fade is after how many turns a peak is forgotten.
	fade = 64
)

func (d *direct) learn(names int, near bool) {
	d.peak = max(float64(names), d.peak-(d.peak-float64(names))/fade)
	if few := d.peak < oneName || near && d.peak <= fewNames; few != d.on.Load() {
		d.on.Store(few)
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
	l.gates.visit(nil, func(m gate.Machine) {
		m.Dismiss(now, gate.Outcome{Why: gate.Closed}, func(*gate.Waiter) bool { return true }, &l.gates.fx)
	})
}

func (d drain) refuse() { close(d.drained) }

// closing ends every wait and hold, and then the loop.
type closing struct{}

// CloseTime bounds how long Close works on freeing keys: an uncertain acquire is settled after LateWindow.
const CloseTime = gate.LateWindow + time.Second

func (closing) deliver(l *loop, now gate.Time) {
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
