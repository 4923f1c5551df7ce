package redisnet

import (
	"crypto/sha1"
	"fmt"
	"sync"
	"time"

	"github.com/wheellock/wheellock/internal/redismodel"
)

// Server is a Redis server. Any goroutine may use it.
type Server struct {
	Name string

	mu       sync.Mutex // guards the rest; never held while blocking
	model    *redismodel.Server
	scripts  map[string]string // by their digests
	sessions map[*session]struct{}
	order    []*session // of the sessions, so that messages leave in one order
	runs     int        // how often it was started
	stopped  bool
	began    time.Time
	rate     float64       // how much faster than true time its clock runs
	stepped  time.Duration // how far its clock has jumped
	trouble  trouble
	commands int
	after    func(*redismodel.Server) // nil, or called after each command
	next     func()                   // nil, or called when a client's script has run
	nextOf   string                   // whose
	hears    func(args []string)      // nil, or called before each command of a client
	drops    func() bool              // whether a message to one listener is lost; nil: none is
	unknown  map[string]int           // commands that it does not know
}

// New starts an empty server, whose scripts run by in.
func New(name string, in *redismodel.Interpreter) *Server {
	s := &Server{
		Name: name, began: time.Now(), model: redismodel.New(in), scripts: make(map[string]string),
		sessions: make(map[*session]struct{}), runs: 1, unknown: make(map[string]int),
	}
	s.model.Subscribers, s.model.Publish = s.subscribers, s.publish
	return s
}

// Do runs a command as an operator would: nobody refuses it.
func (s *Server) Do(args ...string) redismodel.Value {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turn()
	return s.model.Do(args...)
}

// After has f look after each command of a client; nil: nobody does. f must not use the Server.
func (s *Server) After(f func(*redismodel.Server)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.after = f
	if f != nil {
		s.turn()
		f(s.model)
	}
}

// Hear has f told each command of a client before it runs; nil: nobody is. f must not use the Server.
func (s *Server) Hear(f func(args []string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hears = f
}

// AtNextScript has f called once, when the next script of a client has run and before it is answered; nil: no more. f must not use the
// Server.
func (s *Server) AtNextScript(client string, f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next, s.nextOf = f, client
}

// Lose deletes a key as an operator's DEL does, and tells the connections that asked to be told of changed keys.
func (s *Server) Lose(key string) {
	s.Do("DEL", key)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.order {
		if c.tracking {
			c.tell(appendPush(nil, c.resp3, "invalidate", []string{key}))
		}
	}
}

// Look calls f with the model.
func (s *Server) Look(f func(*redismodel.Server)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turn()
	f(s.model)
}

// Keys are the keys that exist.
func (s *Server) Keys() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turn()
	return s.model.Keys()
}

// Now is the server's clock.
func (s *Server) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now()
}

func (s *Server) now() time.Time {
	return time.Now().Add(time.Duration(float64(time.Since(s.began))*s.rate) + s.stepped)
}

// Drift has its clock run so much faster, 0.01 being 1 %, or slower.
func (s *Server) Drift(rate float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rate = rate
}

// Truly is how long d by its clock is.
func (s *Server) Truly(d time.Duration) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Duration(float64(d) / (1 + s.rate))
}

// turn turns the model's clock.
func (s *Server) turn() { s.model.Micros = s.now().UnixMicro() }

// Commands is how many commands clients have sent, without PING.
func (s *Server) Commands() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.commands
}

// Subscriptions lists who listens to which channels, but for clients that have gone without a word.
func (s *Server) Subscriptions() (channels []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.order {
		if c.conn.in.isLost() {
			continue
		}
		for channel := range c.channels {
			channels = append(channels, c.client+" "+channel.name)
		}
	}
	return channels
}

// Unknown is what it was asked for and does not know.
func (s *Server) Unknown() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.unknown
}

func (s *Server) down() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stopped
}

// serve begins to serve a connection; false: it is down. ended is called when it has ended.
func (s *Server) serve(client string, conn *conn, ended func()) bool {
	c := &session{s: s, client: client, conn: conn, since: time.Now(), channels: make(map[channel]struct{})}
	s.mu.Lock()
	if s.stopped {
		s.mu.Unlock()
		conn.cut()
		ended()
		return false
	}
	s.sessions[c] = struct{}{}
	s.order = append(s.order, c)
	s.mu.Unlock()
	go func() {
		defer ended()
		c.run()
	}()
	return true
}

func (s *Server) runID() string { return fmt.Sprintf("%x", sha1.Sum(fmt.Append(nil, s.Name, s.runs))) }

func (s *Server) subscribers(name string, sharded bool) (n int) {
	for _, c := range s.order {
		if _, is := c.channels[channel{name, sharded}]; is {
			n++
		}
	}
	return n
}

func (s *Server) publish(name, message string, sharded bool) {
	kind := "message"
	if sharded {
		kind = "smessage"
	}
	for _, c := range s.order {
		if _, is := c.channels[channel{name, sharded}]; is && (s.drops == nil || !s.drops()) {
			c.tell(appendPush(nil, c.resp3, kind, name, message))
		}
	}
}
