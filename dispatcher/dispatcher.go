// Package dispatcher carries requests for locks to Redis and brings the answers back.
//
// A Dispatcher (this file) is one goroutine (loop.go) that owns the gates of its names (entries.go, names.go, freeentries.go).
// Everybody tells it something (api.go) by an event in its mailbox (mailbox.go): a request of a caller (requests.go), news from
// a node (nodeevents.go), a request about the whole dispatcher (controlevents.go). Each event is a type whose deliver method
// steps the gates. The loop takes all mail that waits; the commands that the gates ask for wait in the outbox
// (outbox.go) of the node that serves the name (node.go) and leave on its next idle connection (pipeline.go).
//
// Times at which a machine is to be woken are kept in slots (timers.go) and, when they are near, in a heap (near.go). ack.go
// bounds how long a caller waits for an answer. clock.go says how old the loop's reading of the clock may be. turnyield.go lets
// callers run before a turn. close.go ends everything.
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
	Fsync       time.Duration // how long the server has to get it on its disk; 0: that is not asked for
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

// stepped notes that an entry has changed; its alarm is set at the end of the turn. A spare one has not, whatever
// event came for it: a caller that went away while he was answered has his event read when the name is idle and
// forgotten. Were that one forgotten again, two names would get the same entry, or one that lives would lose its own.
func (d *Dispatcher) stepped(c *gate.Entry) {
	if !c.Stepped && !c.Free {
		c.Stepped = true
		d.changed = append(d.changed, c)
	}
}

// answer brings a command back to the gate that asked for it.
func (d *Dispatcher) answer(now gate.Time, c *gate.Command) {
	entry := c.Entry
	entry.Machine.Answer(now, c, &d.fx)
	d.stepped(entry)
}

// linkUp tells the machines of some entries that the link to their node is there again.
func (d *Dispatcher) linkUp(now gate.Time, whose func(*gate.Entry) bool) {
	for c := range d.names.all() {
		if whose(c) {
			c.Machine.LinkUp(now, &d.fx)
			d.stepped(c)
		}
	}
}

// each steps every machine.
func (d *Dispatcher) each(step func(gate.Machine)) {
	for c := range d.names.all() {
		step(c.Machine)
		d.stepped(c)
	}
}
