package dispatcher

import (
	"log/slog"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/dispatcher/reconnect"
	"github.com/wheellock/wheellock/dispatcher/redisconn"
	"github.com/wheellock/wheellock/wheel"
)

// Config is what a Dispatcher needs.
type Config struct {
	Client      rueidis.Client   // of a single server; connections and subscriber have connections of their own from it; closed by the engine after the dispatcher
	Cluster     *Cluster         // or a cluster
	Connections redisconn.Config // but for what the dispatcher itself knows
	Gate        *gate.Config     // the dispatcher's own copy
	Clock       *wheel.Clock     // shared by the dispatchers of an engine
	Waker       *wheel.Waker     // for ticks of length Tick; shared likewise, and closed by the engine after them
	Logger      *slog.Logger
	Outages     *reconnect.Outages // shared likewise
	MaxPerName  int                // waiters of one name
}

// Tick is the length of the ticks of slots.
const Tick = 10 * time.Millisecond
