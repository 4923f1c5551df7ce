package redistest

import (
	"crypto/rand"
	"slices"
	"strings"
	"sync"

	"github.com/wheellock/wheellock/internal/testkit/redisserver"
	"github.com/wheellock/wheellock/internal/testkit/resp"
)

// Monitor collects what a server runs, in the server's order: one line for each command, also of those
// inside scripts, in MONITOR's form: `1700000000.123456 [0 127.0.0.1:50000] "GET" "stock:7"`.
type Monitor struct {
	server *Server
	conn   *resp.Conn
	ended  chan struct{} // closed when nothing more will be read
	once   sync.Once     // of the closing of conn

	mu    sync.Mutex // guards lines
	lines []string
}

// Monitor starts collecting: every command that is sent after it returns will be seen. It ends at Stop,
// with the server, or with the test.
func (s *Server) Monitor() *Monitor {
	s.tb.Helper()
	conn, err := resp.Dial("tcp", s.Addr(), s.server.Password, redisserver.AdminName, redisserver.AdminTimeout)
	if err != nil {
		s.tb.Fatalf("redistest: MONITOR: %v", err)
	}
	m := &Monitor{server: s, conn: conn, ended: make(chan struct{})}
	s.tb.Cleanup(m.close)
	if err := conn.DoWithin(redisserver.AdminTimeout, "MONITOR").Err(); err != nil {
		close(m.ended)
		s.tb.Fatalf("redistest: MONITOR: %v", err)
	}
	go m.collect()
	return m
}

func (m *Monitor) collect() {
	defer close(m.ended)
	for {
		line, err := m.conn.In.ReadString('\n')
		if err != nil {
			return
		}
		m.mu.Lock()
		m.lines = append(m.lines, strings.TrimSuffix(strings.TrimPrefix(line, "+"), "\r\n"))
		m.mu.Unlock()
	}
}

// Take returns the commands that have come in and were not taken before, and forgets them: a long watch does not grow.
func (m *Monitor) Take() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	lines := m.lines
	m.lines = nil
	return lines
}

// Stop ends the collecting and returns every command that was answered before Stop was called, and
// perhaps later ones. When the server is dead it returns what there was. Stopping again gives the same.
func (m *Monitor) Stop() []string {
	m.server.tb.Helper()
	mark := rand.Text() // once it comes back, so has everything before it
	seen := func(line string) bool { return strings.Contains(line, mark) }
	if m.server.Do("ECHO", mark).Err() == nil {
		Await(m.server.tb, "the end of MONITOR", func() bool {
			m.mu.Lock()
			defer m.mu.Unlock()
			return m.over() || slices.ContainsFunc(m.lines, seen)
		})
	}
	m.close()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lines = slices.DeleteFunc(m.lines, seen)
	return slices.Clone(m.lines)
}

func (m *Monitor) over() bool {
	select {
	case <-m.ended:
		return true
	default:
		return false
	}
}

func (m *Monitor) close() {
	m.once.Do(func() { _ = m.conn.Close() }) // ends the read in collect
	<-m.ended
}
