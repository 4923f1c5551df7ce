package enginetest

import (
	"bufio"
	"context"
	"crypto/sha1"
	"crypto/tls"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/rueidis"
	"go.uber.org/atomic"
)

// Server is an in-memory Redis server. Any goroutine may use it.
type Server struct {
	redis *miniredis.Miniredis
	start time.Time
	runID string

	failures failures

	mu       sync.Mutex // guards the rest; held for no longer than a few instructions
	down     bool
	latency  time.Duration
	links    map[*link]struct{}
	tracking map[*server.Peer]struct{} // the clients with CLIENT TRACKING
	clients  map[*server.Peer]client   // the clients that have set a name

	loading sync.Mutex        // guards the next two; held while a script is parsed
	scripts map[string]string // by digest: loaded by an engine, and called by none
	loaded  map[string]bool   // by digest: called
}

var servers atomic.Uint64 // started so far

// Start starts a server, for code without a testing.TB: examples, benchmarks, TestMain. Tests use New.
func Start() *Server {
	s := &Server{
		redis: miniredis.NewMiniRedis(), start: time.Now(), runID: fmt.Sprintf("%040x", servers.Inc()),
		links: make(map[*link]struct{}), tracking: make(map[*server.Peer]struct{}), clients: make(map[*server.Peer]client),
		failures: failures{next: make(map[target][]CallFailure)}, scripts: make(map[string]string), loaded: make(map[string]bool),
	}
	s.redis.SetTime(s.start)
	s.redis.ClockTTL(true)
	first, err := s.redis.Dial() // starts the server behind it, without a listener
	if err != nil {
		panic(err) // only a listener could fail
	}
	first.Close()
	s.redis.Server().SetPreHook(s.before)
	return s
}

// Close ends the server. Close its engines first.
func (s *Server) Close() { s.redis.Close() }

// Lose deletes the key of a name, as an operator's DEL would, and tells nobody. The holder finds out by its next
// renewal, or at once with Options.WatchLoss; from now on another owner may take the lock. With a NameMapper, name is
// the mapped one. The permits of an [engine.PermitSemaphore] have a key of their own, {name}:timeout, which takes the
// place of the name. Lose also works while the server is down.
func (s *Server) Lose(name string) {
	s.advance()
	s.redis.Del(name)
	s.invalidate(name)
}

// SetDown makes the server unreachable, or reachable again. It cuts all connections, and refuses new ones until the
// server is up. The keys stay, and their leases run on. An engine tries again within a second; until then TryLock fails with
// [engine.ErrNotSent], and Lock waits.
func (s *Server) SetDown(down bool) {
	s.mu.Lock()
	s.down = down
	var cut []*link
	if down {
		for l := range s.links {
			cut = append(cut, l)
		}
	}
	s.mu.Unlock()
	for _, l := range cut {
		l.Close()
	}
}

// Keys returns the existing keys in order: those of the locks that are held, the counters of fenced locks, semaphores and latches, with a
// receipt for up to a minute after a call, and nothing else if nothing was left behind.
func (s *Server) Keys() []string {
	s.advance()
	return s.redis.Keys()
}

// connection is what an engine needs to come here.
func (s *Server) connection() rueidis.ClientOption {
	return rueidis.ClientOption{
		InitAddress:       []string{"enginetest:6379"},
		DialCtxFn:         s.dial,
		ForceSingleClient: true, // the server would pass for a cluster of one
		AlwaysPipelining:  true, // its connections hold nothing: writer and reader must be different goroutines
	}
}

func (s *Server) dial(_ context.Context, _ string, _ *net.Dialer, _ *tls.Config) (net.Conn, error) {
	conn, err := s.redis.Dial()
	if err != nil {
		return nil, err
	}
	l := &link{Conn: conn, s: s, closed: make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down {
		conn.Close()
		return nil, &net.OpError{Op: "dial", Net: "memory", Err: syscall.ECONNREFUSED}
	}
	s.links[l] = struct{}{}
	return l, nil
}

// before runs before every command.
func (s *Server) before(peer *server.Peer, command string, args ...string) (done bool) {
	if command == "HELLO" {
		s.noteName(peer, args)
	}
	if !peer.Resp3 { // a command of a script, for which time stands still as in Redis, or a greeting
		return s.refusesMemory(peer, command, args)
	}
	s.advance()
	switch {
	case command == "SCRIPT" && len(args) == 2 && args[0] == "LOAD":
		peer.WriteBulk(s.keep(args[1]))
	case command == "EVALSHA" && len(args) > 1:
		s.load(args[0])
		return s.fails(peer, args)
	case command == "CLIENT" && len(args) > 1 && args[0] == "TRACKING":
		s.track(peer)
	case command == "CLIENT" && len(args) > 0 && args[0] == "LIST": // by which engine.Holder finds the client of an id
		peer.WriteBulk(s.list())
	case command == "INFO": // by which engine.Quorum tells servers apart
		peer.WriteBulk("# Server\r\nrun_id:" + s.runID + "\r\n")
	case command == "ROLE": // for engine.AllReplicas: a master without a replica
		peer.WriteLen(3)
		peer.WriteBulk("master")
		peer.WriteInt(0)
		peer.WriteLen(0)
	default:
		return false
	}
	return true
}

// keep keeps a script until it is called, and returns its digest. An engine loads every script when it is opened, and a
// test calls a few of them: to parse all of them took most of the time of a test.
func (s *Server) keep(script string) (sum string) {
	sum = digest(script)
	s.loading.Lock()
	defer s.loading.Unlock()
	if !s.loaded[sum] {
		s.scripts[sum] = script
	}
	return sum
}

// digest is what Redis calls a script.
func digest(script string) string {
	sum := sha1.Sum([]byte(script))
	return hex.EncodeToString(sum[:])
}

// load loads a script that was kept. A second caller waits until it is loaded.
func (s *Server) load(digest string) {
	s.loading.Lock()
	defer s.loading.Unlock()
	script, kept := s.scripts[digest]
	if !kept {
		return
	}
	delete(s.scripts, digest)
	s.loaded[digest] = true
	s.redis.Server().Dispatch(server.NewPeer(bufio.NewWriter(io.Discard)), []string{"SCRIPT", "LOAD", script})
}

// advance moves the server's clock. It is moved by whole milliseconds, the unit of Redis, because each move
// looks at all keys.
func (s *Server) advance() {
	s.mu.Lock()
	defer s.mu.Unlock() // held until it is moved: moved back, it would count the time in between twice
	s.redis.SetTime(s.start.Add(time.Since(s.start).Truncate(time.Millisecond)))
}

// track is CLIENT TRACKING, for Options.WatchLoss. Every key is told of, whether it was read or not.
func (s *Server) track(peer *server.Peer) {
	peer.OnDisconnect(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.tracking, peer)
	})
	s.mu.Lock()
	s.tracking[peer] = struct{}{}
	s.mu.Unlock()
	peer.WriteOK()
}

func (s *Server) invalidate(key string) {
	s.mu.Lock()
	var peers []*server.Peer
	for peer := range s.tracking {
		peers = append(peers, peer)
	}
	s.mu.Unlock()
	for _, peer := range peers {
		peer.Block(func(w *server.Writer) {
			w.WritePushLen(2)
			w.WriteBulk("invalidate")
			w.WriteStrings([]string{key})
			w.Flush()
		})
	}
}

// client is a connection as CLIENT LIST shows it.
type client struct {
	name  string
	since time.Time
}

// noteName notes the name of a client, which the client sets by HELLO.
func (s *Server) noteName(peer *server.Peer, args []string) {
	i := slices.Index(args, "SETNAME")
	if i < 0 || i+1 == len(args) {
		return
	}
	peer.OnDisconnect(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.clients, peer)
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clients[peer] = client{args[i+1], time.Now()}
}

// list is the answer to CLIENT LIST. All connections are in memory, and have one address.
func (s *Server) list() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var lines strings.Builder
	for _, c := range s.clients {
		fmt.Fprintf(&lines, "addr=memory:0 name=%s age=%d\n", c.name, int(time.Since(c.since).Seconds()))
	}
	return lines.String()
}
