// Package dispatcher carries requests for locks to Redis and brings the answers back.
//
// A Dispatcher is one goroutine (loop.go) that owns the gates of its names (entries.go, names.go, freeentries.go).
// Everybody tells it something by an event in its mailbox (mailbox.go): a request of a caller (requests.go), news from a
// node (nodeevents.go), a request about the whole dispatcher (controlevents.go). Each event is a type whose deliver method
// steps the gates. The loop takes all mail that waits; the commands that the gates ask for wait in the outbox
// (outbox.go) of the node that serves the name (node.go) and leave on its next idle connection (pipeline.go).
//
// Times at which a machine is to be woken are kept in slots and, when they are near, in a heap (timers.go). ack.go bounds
// how long a caller waits for an answer. turnyield.go lets callers run before a turn. close.go ends everything.
//
// link.go watches and probes the link to each node. routes.go says which entries listen to a channel, and at which node.
// A cluster has many nodes: cluster.go knows which serves a name, redirect.go follows a name that moves, survey.go asks
// who serves what.
//
// The packages below, whose imports point one way:
//
//	redisconn    one connection that carries batches to one Redis; loading scripts; rights of the user
//	wire         commands to calls of scripts, answers to replies
//	subscriber   the connection that hears unlock messages
//	topology     who serves which hash slot; who is the master
//	rediserr     what an error of Redis means
//	reconnect    when a broken connection is made again
//	respguard    ends a connection before a server can end the process
//	quietsocket  sockets that do not wake the runtime's monitor
//
// Order: a name has at most one command in flight, so a batch needs no order inside.
// Loss: when the link breaks, commands that surely did not leave come back as NotSent, others as Unknown;
// the gates decide what that means for a lock. Nothing is retried behind their back.
//
// The package is the engine's own: it may change with any release.
package dispatcher

import (
	"log/slog"
	"time"

	"github.com/redis/rueidis"
	"go.uber.org/atomic"

	"github.com/wheellock/wheellock/dispatcher/redisconn"
	"github.com/wheellock/wheellock/dispatcher/wire"
	"github.com/wheellock/wheellock/internal/gate"
	"github.com/wheellock/wheellock/wheel"
)

// Config is what a Dispatcher needs.
type Config struct {
	Client     rueidis.Client // of a single server; connections and subscriber have connections of their own from it; closed by the engine after the dispatcher
	Cluster    *Cluster       // or a cluster
	Gate       *gate.Config   // the dispatcher's own copy
	Clock      *wheel.Clock
	Logger     *slog.Logger
	UUID       string        // the engine's: owner fields are "<UUID>:<number>"
	Publish    string        // PUBLISH, SPUBLISH or BOTH
	FenceTTL   time.Duration // idle fencing counters expire after this; 0: never
	WatchLoss  bool          // after a grant or renewal, have Redis tell when the key changes
	MaxPerName int           // waiters of one name
	Declared   bool          // no script may touch a key that its call does not declare
	ProbeTime  time.Duration // how long a probe of a broken link may take

	Replicas    int           // how many replicas must have what is granted or renewed before it counts
	ReplicaTime time.Duration // how long they have for it
}

// Tick is the length of the ticks of slots.
const Tick = 10 * time.Millisecond

// slots times Tick is the horizon of the slots, 20 s: longer than a renewal interval or a wait usually is, and within
// the reach of the waker.
const slots = 2048

// Dispatcher owns the gates of its names.
type Dispatcher struct {
	cfg  Config
	mail *mailbox // any goroutine puts; only loop takes
	done chan struct{}

	// Owned by loop: no other goroutine touches these.
	names     names
	heard     routes
	free      freeEntries
	changed   []*gate.Entry // stepped in this turn: their alarms are to be set
	leaving   []*connection // to be sent off at the end of this turn
	fx        gate.Effects
	slots     *wheel.Slots[*gate.Entry]
	acks      *wheel.Slots[*Ack]
	wakeAt    func(wheel.Tick) // the waker's At
	lookAt    gate.Time        // when to open slots without having been woken; Never: nothing is due later
	near      nearby
	turnYield turnYield
	nodes     []*node
	cluster   *cluster  // nil: a single server, the only node; set once
	settled   bool      // the ack of the event that is being read
	checked   gate.Time // when the clock was last compared for suspension
	measured  gate.Time // when suspension was last measured
	closing   bool
	closeBy   gate.Time
	draining  []chan struct{} // closed when nothing is held any more

	// Owned by nobody: safe from anywhere.
	connections redisconn.Config // does not change
	digests     redisconn.Digests
	up          atomic.Bool // every link that names depend on works
	waker       *wheel.Waker
}

// New starts a dispatcher and its nodes. The scripts have been loaded by Load, into the single server or into the nodes
// of a cluster that were reached; loaded is of one of them.
func New(cfg Config, loaded *redisconn.Loaded) *Dispatcher {
	d := &Dispatcher{
		cfg: cfg, mail: newMailbox(), done: make(chan struct{}),
		names: newNames(), heard: make(routes),
	}
	cfg.Gate.Waits = wheel.NewSlots[*gate.Waiter](slots, d.armTick)
	d.slots = wheel.NewSlots[*gate.Entry](slots, d.armTick)
	d.acks = wheel.NewSlots[*Ack](ackSlots, d.armTick)
	d.digests.Store(loaded)
	d.connections = d.connectionConfig()
	waker := wheel.NewWaker(cfg.Clock, Tick, d.mail.wakeUp)
	d.waker, d.wakeAt, d.lookAt = waker, waker.At, gate.Never
	d.near.start(d.mail.wakeUp)
	if cfg.Cluster != nil {
		d.join(cfg.Cluster)
	} else {
		d.nodes = []*node{newNode(d, "", cfg.Client, loaded)}
		d.updateHealth()
	}
	go d.loop()
	return d
}

func (d *Dispatcher) connectionConfig() redisconn.Config {
	c := &d.cfg
	conns := redisconn.Config{
		Settings: wire.Settings{
			UUID: c.UUID, Publish: c.Publish, FenceTTL: c.FenceTTL, FairWaiterLease: c.Gate.FairWaiterLease, Declared: c.Declared,
		},
		Clock: c.Clock, Digests: &d.digests, WatchLoss: c.WatchLoss, ProbeTime: c.ProbeTime,
		Replicas: c.Replicas, ReplicaTime: c.ReplicaTime, Suspect: d.Suspect,
	}
	if c.Cluster != nil {
		conns.Cluster, conns.Connect = true, c.Cluster.Connect
	}
	return conns
}

// Ask brings a request. False: the dispatcher takes no more. Any goroutine.
func (d *Dispatcher) Ask(name string, kind gate.Kind, w *gate.Waiter) bool {
	return d.mail.putAsk(ask{w, name, kind})
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
	return d.mail.put(&extend{h, lease, ack})
}

// Force frees the owner that stands in Redis for a name; id is its number when it is one of ours, else 0.
// False: the dispatcher has ended. Any goroutine.
func (d *Dispatcher) Force(name string, kind gate.Kind, owner string, id uint64, ack gate.Settler) bool {
	return d.mail.put(&force{name, kind, owner, id, ack})
}

// Change makes a change on a name without owners; ack hears how it went. False: the dispatcher has ended.
// Any goroutine.
func (d *Dispatcher) Change(name string, kind gate.Kind, c gate.Change, ack gate.Settler) bool {
	c.Ack = ack
	return d.mail.put(&change{name, kind, c})
}

// Suspect says that the key of a name may have changed behind our back. Any goroutine; it does not block.
func (d *Dispatcher) Suspect(name string) { d.mail.put(suspect{name}) }

// SuspectNode says so of every name that a node serves: that of a cluster at this address, or, at none, the single
// server. Any goroutine; it does not block.
func (d *Dispatcher) SuspectNode(addr string) { d.mail.put(suspectNode{addr}) }

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

// Oldest returns when the oldest living hold was granted, or gate.Never. It walks all names on the loop.
func (d *Dispatcher) Oldest() gate.Time {
	answer := make(chan gate.Time, 1)
	if !d.mail.put(oldestQuery{answer}) {
		return gate.Never
	}
	return <-answer
}
