package dispatcher

import (
	"log/slog"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/dispatcher/reconnect"
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

	Replicas    int           // how many replicas must have what is granted or renewed before it counts; redisconn.AllReplicas: all that are connected
	ReplicaTime time.Duration // how long they have for it
	Fsync       time.Duration // how long the server has to get it on its disk; 0: that is not asked for
}

// Tick is the length of the ticks of slots.
const Tick = 10 * time.Millisecond
