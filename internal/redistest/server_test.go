package redistest

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/wheellock/wheellock/internal/testkit/redisserver"
)

func TestServer(t *testing.T) {
	t.Parallel()
	t.Run("forgets everything over a restart", func(t *testing.T) {
		s := Start(t)
		pid := s.PID()
		s.MustDo("SET", "k", "v")
		s.Restart()
		if keys := s.Keys(); len(keys) != 0 || s.PID() == pid {
			t.Errorf("keys %q in process %d, want none in a process other than %d", keys, s.PID(), pid)
		}
	})
	t.Run("remembers what it was configured to", func(t *testing.T) {
		s := Start(t, "--appendonly", "yes", "--appendfsync", "always")
		s.MustDo("SET", "k", "v")
		addr := s.Addr()
		s.Kill()
		s.Kill() // a dead server stays dead
		s.Restart()
		if got := s.MustDo("GET", "k").Text; got != "v" || s.Addr() != addr {
			t.Errorf("k = %q at %s, want v at %s", got, s.Addr(), addr)
		}
	})
	t.Run("knows its password", func(t *testing.T) {
		s := Start(t, "--requirepass", "s:cret")
		s.MustDo("SET", "k", "v")
		if want := "redis://:s%3Acret@" + s.Addr(); s.URL() != want {
			t.Errorf("URL %s, want %s", s.URL(), want)
		}
		m := s.Monitor()
		s.MustDo("GET", "k")
		if lines := m.Stop(); len(lines) != 1 {
			t.Errorf("monitored %q, want one line", lines)
		}
	})
	t.Run("freezes in the middle of a connection", func(t *testing.T) {
		s := Start(t)
		c := dial(t, s)
		s.Freeze()
		c.send("PING")
		if err := c.conn.SetReadDeadline(time.Now().Add(30 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		if _, err := c.reader.Peek(1); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("a frozen server: %v, want silence", err)
		}
		s.Thaw()
		if err := c.conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
		if got := c.read(); got.Text != "PONG" {
			t.Errorf("after the thaw: %v, want PONG", got)
		}
	})
	t.Run("can be killed while frozen", func(t *testing.T) {
		s := Start(t)
		s.Freeze()
		s.Restart()
		s.MustDo("PING")
	})
}

func TestServerThatCannotStart(t *testing.T) {
	t.Parallel()
	Require(t, "redis-server")
	v := &verdict{TB: t}
	defer func() {
		if recover() == nil || !strings.Contains(v.failed, "no-such-option") {
			t.Errorf("failed with %q, want the server's own words", v.failed)
		}
	}()
	Start(v, "--no-such-option", "1")
}

func TestServerGivesWayOnATakenPort(t *testing.T) {
	t.Parallel()
	first, second := Start(t), Start(t)
	addr := second.Addr()
	second.Kill()
	second.server.Port = first.server.Port // as if another process had been quicker
	if err := second.server.Launch(t.Context()); !errors.Is(err, redisserver.ErrPortTaken) {
		t.Errorf("starting on %s, which is taken: %v", first.Addr(), err)
	}
	if addr == first.Addr() {
		t.Errorf("two servers at %s", addr)
	}
}
