package redisconn

import (
	"context"
	"time"

	"github.com/redis/rueidis"
	"go.uber.org/atomic"

	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/wheel"

	"github.com/wheellock/wheellock/dispatcher/wire"
)

// Config is what connections need of their dispatcher. It does not change.
type Config struct {
	wire.Settings
	Clock       *wheel.Clock
	WatchLoss   bool          // after a grant or renewal, have Redis tell when the key changes
	ProbeTime   time.Duration // how long a probe may take
	Replicas    int           // how many replicas must have what is granted or renewed before it counts; AllReplicas: all that are connected
	ReplicaTime time.Duration // how long they have for it
	Fsync       time.Duration // how long the server has to get it on its disk; 0: that is not asked for
	Cluster     bool
	Connect     func(addr string) (rueidis.Client, error) // of a cluster: makes the client of a node that has none yet

	Suspect func(name string) // the key of a name may have changed; called by any connection, must not block
}

// Server is one Redis, as its connections share it.
type Server struct {
	cfg  *Config
	addr string // of a cluster's node
	ctx  context.Context

	// Client is the client from which each connection makes its own. Nil: the first probe makes it, and until that probe is
	// back neither the loop nor another connection looks.
	Client      rueidis.Client
	clock       wire.ServerClock
	refusesWide atomic.String   // what it said to a wide call that it refused as such; empty: it takes them. Any goroutine
	asked       atomic.Duration // when the server's clock was last asked for. Any goroutine
}

// NewServer returns a server. The end of ctx cuts its connections.
func NewServer(ctx context.Context, cfg *Config, addr string, client rueidis.Client) *Server {
	return &Server{cfg: cfg, addr: addr, ctx: ctx, Client: client}
}

// wide reports whether one call may carry names of several hash slots.
func (s *Server) wide() bool { return s.cfg.Cluster && !s.cfg.Declared && s.RefusesWide() == "" }

// RefusesWide says why one call must not carry names of several hash slots. Empty: the server has not refused any.
func (s *Server) RefusesWide() string { return s.refusesWide.Load() }

// Learn notes what the server's clock showed, in ms since 1970, when its answer was read.
func (s *Server) Learn(millis int64, at gate.Time) { s.clock.Learn(millis, at) }

// LearnFrom notes what Load learned.
func (s *Server) LearnFrom(l *Loaded) {
	s.clock.Learn(l.serverMillis, l.at)
	s.refusesWide.Store("") // it may be another server than before
}

// relearn is how often the server is asked for its time: clocks drift by at most 0.05 %, 5 ms in this time.
const relearn = 10 * time.Second

// timeIsStale reports whether a batch is to ask for the server's time now.
func (s *Server) timeIsStale(now gate.Time) bool {
	asked := s.asked.Load()
	return now-asked >= relearn && s.asked.CompareAndSwap(asked, now)
}
