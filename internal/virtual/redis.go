package virtual

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redisnet"
)

// Redis is a server that all engines of a test use, for tests that say at which nanosecond something happens: nothing is ever on its
// way, but for what SetLatency says. Any goroutine may use it.
type Redis struct {
	*redisnet.Server

	mu      sync.Mutex // guards the rest
	links   []*redisnet.Link
	down    bool
	latency time.Duration
}

var started atomic.Uint64

// Start starts one in the bubble of a test, until the test ends.
func Start(tb testing.TB) *Redis {
	return &Redis{Server: serve(tb, fmt.Sprint("redis", started.Add(1)), true)}
}

// New starts a server, and opens an engine on it.
func New(tb testing.TB, opts engine.Options) (*engine.Engine, *Redis) {
	tb.Helper()
	s := Start(tb)
	e, err := s.Open(tb.Context(), opts)
	if err != nil {
		tb.Fatalf("open: %v", err)
	}
	tb.Cleanup(func() { e.Close() })
	return e, s
}

// Open opens another engine. The caller closes it.
func (s *Redis) Open(ctx context.Context, opts engine.Options) (*engine.Engine, error) {
	l := redisnet.NewLink("client", s.Server)
	opts.Redis = by(l, "enginetest")
	s.mu.Lock()
	s.links = append(s.links, l)
	s.mend(l)
	s.mu.Unlock()
	return engine.Open(ctx, opts)
}

// mend has a link be as the server is.
func (s *Redis) mend(l *redisnet.Link) {
	latency := s.latency
	l.Up.Delay(func() time.Duration { return latency })
	if s.down {
		l.Refuse(time.Now().Add(1000 * time.Hour))
		l.Cut()
	} else {
		l.Refuse(time.Time{})
	}
}

func (s *Redis) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
	for _, l := range s.links {
		s.mend(l)
	}
}

// SetDown makes the server unreachable, or reachable again: connections break, and nobody can connect. Its keys stay.
func (s *Redis) SetDown(down bool) { s.set(func() { s.down = down }) }

// SetLatency makes every command that is sent from now on arrive so much later.
func (s *Redis) SetLatency(d time.Duration) { s.set(func() { s.latency = d }) }

// Keys are those that exist, in order.
func (s *Redis) Keys() []string {
	keys := s.Server.Keys()
	slices.Sort(keys)
	return keys
}

// NoPermission is what Redis says to a user without the right to a key.
const NoPermission = "NOPERM No permissions to access a key"

// LoseAnswer breaks all connections when the next script has run and before it is answered.
func (s *Redis) LoseAnswer() {
	s.AtNextScript("client", func() {
		for _, l := range s.links {
			l.Cut()
		}
	})
}

// Occupy takes a lock as a program that is no engine does. vacate gives it back, and wakes who listens.
func (s *Redis) Occupy(name string, lease time.Duration) (vacate func()) {
	try(s.Server, name, lease)
	return func() { free(s.Server, name) }
}
