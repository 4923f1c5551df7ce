package redistest

import (
	"errors"
	"os"
	"testing"
	"time"
)

// onOpenLink starts a server, a proxy before it, and a connection that has been used.
func onOpenLink(t *testing.T) (*Server, *Proxy, *client) {
	t.Helper()
	s := Start(t)
	p := NewProxy(t, s.Addr())
	c := dial(t, p)
	c.ask("PING")
	return s, p, c
}

// wantSilence asserts that nothing arrives for a moment.
func (c *client) wantSilence() {
	c.t.Helper()
	if err := c.conn.SetReadDeadline(time.Now().Add(20 * time.Millisecond)); err != nil {
		c.t.Fatal(err)
	}
	if _, err := c.reader.Peek(1); !errors.Is(err, os.ErrDeadlineExceeded) {
		c.t.Fatalf("%v, want silence", err)
	}
	if err := c.conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		c.t.Fatal(err)
	}
}

func TestBlackHole(t *testing.T) {
	t.Parallel()
	t.Run("holds requests and delivers them when it heals", func(t *testing.T) {
		s, p, c := onOpenLink(t)
		p.BlackHole(ClientToServer, true)
		c.send("INCR", "n")
		Await(t, "the request inside", func() bool { return p.Stats().WaitingToServer > 0 })
		c.wantSilence()
		if got := s.MustDo("GET", "n"); !got.Nil {
			t.Errorf("n = %v during the partition, want nil", got)
		}
		p.BlackHole(ClientToServer, false)
		if got := c.read().Int; got != 1 {
			t.Errorf("after it healed: %d, want 1", got)
		}
	})
	t.Run("loses what a reset sender had sent", func(t *testing.T) {
		s, p, c := onOpenLink(t)
		p.BlackHole(Both, true)
		c.send("SET", "orphan", "1")
		Await(t, "the request inside", func() bool { return p.Stats().WaitingToServer > 0 })
		reset(c.conn)
		Await(t, "the request lost", func() bool { return p.Stats().WaitingToServer == 0 })
		if got := s.ClientCount("normal"); got != 1 {
			t.Errorf("the server sees %d clients, want one it does not know to be gone", got)
		}
		p.BlackHole(Both, false)
		Await(t, "the end of the link", func() bool { return p.Stats().Open == 0 })
		if keys := s.Keys(); len(keys) != 0 {
			t.Errorf("keys %q, want none", keys)
		}
	})
}
