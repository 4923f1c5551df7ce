// Package dispatcher carries requests for locks to Redis and brings the answers back.
//
// A Dispatcher is the handle of a loop: one goroutine that owns the state machines of an engine's names, and the connections to the
// Redis nodes that serve them. An engine has one. Callers, connections and subscribers put events into the mailbox of the loop, and the
// loop is the only reader.
//
//	caller          loop                     connection          Redis
//	Ask         ->  steps the machine    ->  batch           ->  scripts
//	                                     <-  returned        <-  answers
//	a Hold      <-  steps the machine
//
// While few names are on their way to a Redis nearby, the goroutine that brings the first event takes a turn in place of the loop, if nobody
// takes one: a caller, or a connection with its answers. One goroutine at a time takes a turn; what stands here of the loop holds for it.
//
// In a turn the loop takes all events that wait. The commands that the machines ask for wait in the outbox of their node, and leave
// on its next idle connection: what comes while all connections are busy makes the next batch.
//
// The loop has these parts, each in a file of its name: gates (the live names), deadlines (when to wake a machine, or to answer a
// caller whose wait is over), routes (the channels that machines are subscribed to), nodes (the servers, each with its outbox,
// connections, link and subscriber) and cluster (which node serves which hash slot).
//
// Order: a name has at most one command in flight, so the commands of a batch may run in any order.
// Loss: when a connection breaks, commands that surely were not sent are answered with NotSent, others with Unknown;
// the machines decide what that means for a lock. The dispatcher repeats nothing by itself.
//
// The package is the engine's own: it may change with any release.
package dispatcher

import (
	"log/slog"
	"time"

	"github.com/redis/rueidis"
	"go.uber.org/atomic"

	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/dispatcher/redisconn"
	"github.com/wheellock/wheellock/scripts"
	"github.com/wheellock/wheellock/wheel"
)

// Config is what a Dispatcher needs.
type Config struct {
	Client      rueidis.Client   // of a single server; connections and subscriber have connections of their own from it; closed by the engine after the dispatcher
	Cluster     *Cluster         // or a cluster
	Connections redisconn.Config // but for what the dispatcher itself knows
	Gate        *gate.Config     // the dispatcher's own
	Clock       *wheel.Clock     // the engine's
	Logger      *slog.Logger
	Down        func() // called when a node turns out not to be reachable; must not block
}

// Tick is the length of the ticks of slots.
const Tick = 10 * time.Millisecond

// Dispatcher is the handle of a loop. It touches nothing that the loop owns: its methods leave events in the mailbox.
type Dispatcher struct {
	mail  *mailbox
	stats *gate.Stats
	up    *atomic.Bool    // every link that names depend on works; set by the loop
	done  <-chan struct{} // closed by the loop, as its last act
}

// New starts a loop and its nodes. The scripts have been loaded by Load, into the single server or into the nodes of a cluster
// that were reached; loaded is what it said of the single server.
func New(cfg Config, loaded *redisconn.Loaded) *Dispatcher {
	l := newLoop(cfg)
	l.deadlines.run(l.mail.wakeUp)
	l.nodes.connect(loaded)
	return l.start()
}

// start runs the loop and returns its handle.
func (l *loop) start() *Dispatcher {
	go l.run()
	return &Dispatcher{mail: l.mail, stats: l.cfg.Gate.Stats, up: &l.nodes.up, done: l.done}
}

// Ask brings a request, which is Overloaded if most callers wait for the name already. False: the dispatcher takes no more. Any goroutine.
func (d *Dispatcher) Ask(name string, kind gate.Kind, most int32, w *gate.Waiter) bool {
	return d.mail.putAsk(ask{w, name, kind, most})
}

// Abandon says that the caller of w waits no longer. The loop settles w at once, with GaveUp, unless something else has
// settled it first: the caller may rely on an answer. w must not be used for another call before the loop has read this;
// GaveUp says that it has. Any goroutine.
func (d *Dispatcher) Abandon(w *gate.Waiter) { d.mail.put(abandon{w}) }

// Unlock ends a hold; ack hears how the release went. False: the dispatcher has ended. Any goroutine.
func (d *Dispatcher) Unlock(h *gate.Hold, ack gate.Settler) bool {
	return d.mail.putUnlock(unlock{h, ack})
}

// Extend prolongs a hold with a fixed lease. False: the dispatcher has ended. Any goroutine.
func (d *Dispatcher) Extend(h *gate.Hold, lease time.Duration, ack gate.Settler) bool {
	return d.mail.put(&extend{nameRequest{hold: h, ack: ack}, lease})
}

// Detach ends a hold and leaves its name taken for lease; ack hears how that went. False: the dispatcher has ended. Any
// goroutine.
func (d *Dispatcher) Detach(h *gate.Hold, lease time.Duration, ack gate.Settler) bool {
	return d.mail.put(&detach{nameRequest{hold: h, ack: ack}, lease})
}

// Wanted has h.By, a gate.Wanter, told when somebody else waits for the name. Any goroutine.
func (d *Dispatcher) Wanted(h *gate.Hold) { d.mail.put(&wanted{nameRequest{hold: h}}) }

// Force frees the owner that stands in Redis for a name; id is its number when it is one of ours, else 0.
// False: the dispatcher has ended. Any goroutine.
func (d *Dispatcher) Force(name string, kind gate.Kind, owner string, id uint64, ack gate.Settler) bool {
	return d.mail.put(&force{nameRequest{name: name, kind: kind, ack: ack}, owner, id})
}

// Change makes a change on a name without owners; ack hears how it went. False: the dispatcher has ended.
// Any goroutine.
func (d *Dispatcher) Change(name string, kind gate.Kind, c gate.Change, ack gate.Settler) bool {
	c.Ack = ack
	return d.mail.put(&change{nameRequest{name: name, kind: kind, ack: ack}, c})
}

// Suspect says that the key of a name may have changed behind our back. Any goroutine; it does not block.
func (d *Dispatcher) Suspect(name string) { d.mail.put(suspect{name}) }

// SuspectNode says so of every name that a node serves: that of a cluster at this address, or, at none, the single
// server. Any goroutine; it does not block.
func (d *Dispatcher) SuspectNode(addr string) { d.mail.put(suspectNode{addr}) }

// Up reports whether the link works, in a cluster those to all nodes that serve anything, as far as is known. Any
// goroutine.
func (d *Dispatcher) Up() bool { return d.up.Load() }

// Down reports whether the node that serves a name is known not to be reachable. Any goroutine; it may wait for the loop.
func (d *Dispatcher) Down(name string) bool {
	q := linkQuery{scripts.HashSlot(name), make(chan bool, 1)}
	return !d.Up() && d.mail.put(q) && <-q.down
}

// ReportBroken says that a connection to this address turned out to be broken. Any goroutine; it does not block.
func (d *Dispatcher) ReportBroken(addr string) { d.mail.put(broken{addr}) }

// Stats are the counters of this dispatcher's gates. Any goroutine.
func (d *Dispatcher) Stats() *gate.Stats { return d.stats }

// Drain settles all waiters with Closed, takes no new requests, and closes the channel it returns when no
// hold is left. Any goroutine.
func (d *Dispatcher) Drain() <-chan struct{} {
	drained := make(chan struct{})
	d.mail.refuse()
	if !d.mail.put(drain{drained}) {
		close(drained)
	}
	return drained
}

// Close ends every wait and hold, frees the keys as far as Redis can be reached, and returns when the loop
// and the nodes have ended. Any goroutine; may be repeated.
func (d *Dispatcher) Close() {
	d.mail.refuse()
	d.mail.put(closing{})
	<-d.done
}

// Oldest returns when the oldest living hold of a name was granted; gate.Never: there is none, or the dispatcher has ended.
// With an empty name it is that of all names, which the loop walks. Any goroutine; it waits for the loop.
func (d *Dispatcher) Oldest(name string) gate.Time {
	answer := make(chan gate.Time, 1)
	if !d.mail.put(oldestQuery{name, answer}) {
		return gate.Never
	}
	return <-answer
}
