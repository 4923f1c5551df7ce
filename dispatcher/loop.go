package dispatcher

import (
	"github.com/wheellock/wheellock/dispatcher/redisconn"
	"github.com/wheellock/wheellock/internal/gate"
	"github.com/wheellock/wheellock/internal/stall"
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

// New starts a loop and its nodes. The scripts have been loaded by Load, into the single server or into the nodes of a cluster
// that were reached; loaded is of one of them.
func New(cfg Config, loaded *redisconn.Loaded) *Dispatcher {
	l := newLoop(cfg)
	l.deadlines.run(cfg.Waker, l.mail.wakeUp)
	l.nodes.connect(loaded)
	return l.start()
}

// newLoop makes a loop without nodes, without what wakes it.
func newLoop(cfg Config) *loop {
	l := &loop{cfg: cfg, mail: newMailbox(), done: make(chan struct{})}
	l.gates = gates{cfg: cfg.Gate, hashed: cfg.Cluster != nil, names: newNames()}
	l.clock = turnClock{Clock: cfg.Clock}
	l.deadlines = deadlines{gates: &l.gates, clock: &l.clock, acks: &l.acks, lookAt: gate.Never}
	l.deadlines.makeSlots()
	l.routes = routes{gates: &l.gates, home: l.nodes.home, heard: make(map[string]route)}
	l.nodes = nodes{cfg: &l.cfg, mail: l.mail, gates: &l.gates, routes: &l.routes}
	return l
}

// start runs the loop and returns its handle.
func (l *loop) start() *Dispatcher {
	go l.run()
	return &Dispatcher{mail: l.mail, stats: l.cfg.Gate.Stats, up: &l.nodes.up, done: l.done}
}

// run takes turns until everything has ended. It returns only when every request it accepted has its answer.
func (l *loop) run() {
	defer close(l.done)
	mail := new(batch)
	for range l.mail.wake { // by an event, the waker, or the loop's own timer
		stall.At("dispatcher: woken", l.cfg.UUID)
		now := l.clock.beginTurn()
		stall.At("dispatcher: clock read, nothing due handled", l.cfg.UUID)
		if l.turnYield.before(now, l.deadlines.near.next()) {
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
		stall.At("dispatcher: clock read, nothing sent", l.cfg.UUID)
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
