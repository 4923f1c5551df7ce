// Package dispatcher carries requests for locks to Redis and brings the answers back.
//
// A Dispatcher (this file, api.go) is the handle of a loop (loop.go), one goroutine that owns everything else. An engine has one or
// more, which share nothing but clock and waker: each name belongs to one of them for life. Whoever uses the handle leaves an event in
// the loop's mailbox (mailbox.go): a request of a caller (requests.go), or a request about the whole dispatcher (controlevents.go). The
// nodes leave events there, too (nodeevents.go). Each event is a type whose deliver method tells the part of the loop that it is for:
//
//	gates      the live names with their machines, and what these ask for (gates.go; names.go, freeentries.go)
//	deadlines  when a machine is to be woken, or a caller to be told that its time is over (deadlines.go; near.go, ack.go, clock.go)
//	routes     which gates listen to a channel, and at which node (routes.go)
//	nodes      the servers: of each its outbox, connections, link and subscriber (nodes.go; node.go, outbox.go, pipeline.go, link.go)
//	cluster    who serves which hash slot; a single server has none (cluster.go; redirect.go, survey.go)
//
// In a turn the loop takes all mail that waits. The commands that the gates ask for wait in the outbox of the node that serves
// the name and leave on its next idle connection. turnyield.go lets callers run before a turn. close.go ends everything.
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

	"github.com/wheellock/wheellock/dispatcher/reconnect"
	"github.com/wheellock/wheellock/internal/gate"
	"github.com/wheellock/wheellock/wheel"
)

// Config is what a Dispatcher needs.
type Config struct {
	Client     rueidis.Client // of a single server; connections and subscriber have connections of their own from it; closed by the engine after the dispatcher
	Cluster    *Cluster       // or a cluster
	Gate       *gate.Config   // the dispatcher's own copy
	Clock      *wheel.Clock   // shared by the dispatchers of an engine
	Waker      *wheel.Waker   // for ticks of length Tick; shared likewise, and closed by the engine after them
	Logger     *slog.Logger
	Outages    *reconnect.Outages // shared likewise
	UUID       string             // the engine's: owner fields are "<UUID>:<number>"
	Publish    string             // PUBLISH, SPUBLISH or BOTH
	FenceTTL   time.Duration      // idle fencing counters expire after this; 0: never
	WatchLoss  bool               // after a grant or renewal, have Redis tell when the key changes
	MaxPerName int                // waiters of one name
	Declared   bool               // no script may touch a key that its call does not declare
	ProbeTime  time.Duration      // how long a probe of a broken link may take

	Replicas    int           // how many replicas must have what is granted or renewed before it counts
	ReplicaTime time.Duration // how long they have for it
	Fsync       time.Duration // how long the server has to get it on its disk; 0: that is not asked for
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
