package redistest

import (
	"errors"
	"os"
	"testing"
	"time"

	"github.com/wheellock/wheellock/internal/testkit/resp"
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

func TestLatency(t *testing.T) {
	t.Parallel()
	_, p, c := onOpenLink(t)
	took := func() time.Duration {
		start := time.Now()
		c.ask("PING")
		return time.Since(start)
	}
	p.Latency(ClientToServer, 40*time.Millisecond, 0)
	p.Latency(ServerToClient, 30*time.Millisecond, 10*time.Millisecond)
	if got := took(); got < 60*time.Millisecond {
		t.Errorf("a round trip took %v, want at least 40ms and 20ms", got)
	}
	p.Latency(Both, time.Hour, 0)
	c.send("PING")
	Await(t, "the request on its way", func() bool { return p.Stats().WaitingToServer > 0 })
	p.Latency(Both, 0, 0)
	c.send("PING")
	c.wantSilence() // later bytes do not overtake
}

func TestBandwidth(t *testing.T) {
	t.Parallel()
	_, p, c := onOpenLink(t)
	p.Bandwidth(ClientToServer, 100_000)
	start := time.Now()
	c.ask("SET", "k", randomText(20_000))
	if took := time.Since(start); took < 150*time.Millisecond {
		t.Errorf("20 kB at 100 kB/s took %v, want nearly 200ms", took)
	}
	p.Bandwidth(ClientToServer, 0)
	c.ask("SET", "k", randomText(1<<20)) // would take 10 s
	if f := (&fault{bandwidth: 7}); f.piece() != 1 || f.takes(7) != time.Second {
		t.Errorf("at 7 B/s pieces of %d, 7 bytes take %v; want 1 and 1s", f.piece(), f.takes(7))
	}
}

func TestSlowClose(t *testing.T) {
	t.Parallel()
	s, p, c := onOpenLink(t)
	p.SlowClose(ClientToServer, time.Hour)
	c.send("SET", "k", "v")
	_ = c.conn.Close()
	Await(t, "the last bytes", func() bool { return s.Do("GET", "k").Text == "v" })
	if got := s.ClientCount("normal"); got != 1 {
		t.Errorf("the server sees %d clients, want one that has not left yet", got)
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
	t.Run("of answers lets requests run", func(t *testing.T) {
		s, p, c := onOpenLink(t)
		p.BlackHole(ServerToClient, true)
		c.send("INCR", "n")
		Await(t, "the answer inside", func() bool { return p.Stats().WaitingToClient > 0 })
		if got := s.MustDo("GET", "n").Text; got != "1" {
			t.Errorf("n = %s, want 1", got)
		}
		c.wantSilence()
		p.BlackHole(ServerToClient, false)
		c.read()
	})
	t.Run("keeps new connections from the server", func(t *testing.T) {
		s, p, _ := onOpenLink(t)
		p.BlackHole(ServerToClient, true)
		c := dial(t, p)
		c.send("PING")
		Await(t, "the request inside", func() bool { return p.Stats().WaitingToServer > 0 })
		if got := s.ClientCount("normal"); got != 1 {
			t.Errorf("the server sees %d clients, want only the one of before", got)
		}
		p.BlackHole(ServerToClient, false)
		c.read()
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
	t.Run("delivers late what a closed sender had sent", func(t *testing.T) {
		s, p, c := onOpenLink(t)
		p.BlackHole(Both, true)
		c.send("SET", "orphan", "1")
		_ = c.conn.Close()
		Await(t, "the request inside", func() bool { return p.Stats().WaitingToServer > 0 })
		p.BlackHole(Both, false)
		Await(t, "the orphan", func() bool { return len(s.Keys()) == 1 })
	})
}

func TestDrop(t *testing.T) {
	t.Parallel()
	s, p, c := onOpenLink(t)
	idle := dial(t, p)
	idle.ask("PING")
	request := resp.AppendCommand(nil, "INCR", "n")
	size := int64(len(request))
	p.Drop(ClientToServer, true)
	c.write(request)
	Await(t, "the bytes lost", func() bool { return p.Stats().Dropped == size })
	p.Drop(ClientToServer, false)
	c.write(request)
	Await(t, "the later bytes lost too", func() bool { return p.Stats().Dropped == 2*size })
	c.wantSilence()
	_ = c.conn.Close()
	if got := idle.ask("INCR", "n").Int; got != 1 {
		t.Errorf("on a connection that lost nothing: %d, want 1", got)
	}
	if got := s.ClientCount("normal"); got != 2 {
		t.Errorf("the server sees %d clients, want 2: the end was lost as well", got)
	}
	if got := p.Cut(); got != 2 {
		t.Errorf("%d connections to cut, want 2", got)
	}
}

func TestHoldRequests(t *testing.T) {
	t.Parallel()
	t.Run("delivers after the client has reset its connection and cleaned up", func(t *testing.T) {
		s, p, c := onOpenLink(t)
		p.HoldRequests(UntilReleased)
		c.send("SET", "orphan", "1")
		Await(t, "the request inside", func() bool { return p.Stats().WaitingToServer > 0 })
		p.HoldRequests(0)
		reset(c.conn)
		cleanup := dial(t, p)
		if got := cleanup.ask("DEL", "orphan").Int; got != 0 {
			t.Fatalf("the clean-up found %d keys, want 0: it comes first", got)
		}
		Await(t, "the reset seen", func() bool { return p.Stats().Left == 1 })
		p.Release()
		Await(t, "the orphan", func() bool { return len(s.Keys()) == 1 })
		Await(t, "the end of the old link", func() bool { return p.Stats().Open == 1 })
		size := int64(len(resp.AppendCommand(nil, "SET", "orphan", "1")))
		if got := p.Stats(); got.LateRequests != 1 || got.LateBytes != size || got.WaitingToServer != 0 {
			t.Errorf("%+v, want 1 late request of %d bytes", got, size)
		}
	})
	t.Run("survives a black hole that loses the rest", func(t *testing.T) {
		s, p, c := onOpenLink(t)
		p.HoldRequests(UntilReleased)
		c.send("SET", "held", "1")
		held := int64(len(resp.AppendCommand(nil, "SET", "held", "1")))
		Await(t, "the request inside", func() bool { return p.Stats().WaitingToServer == held })
		p.HoldRequests(0)
		p.BlackHole(Both, true)
		c.send("SET", "lost", "1")
		Await(t, "both inside", func() bool { return p.Stats().WaitingToServer == 2*held })
		reset(c.conn)
		Await(t, "one lost", func() bool { return p.Stats().WaitingToServer == held })
		p.Release()
		p.BlackHole(Both, false)
		Await(t, "the end of the link", func() bool { return p.Stats().Open == 0 })
		if keys := s.Keys(); len(keys) != 1 || keys[0] != "held" {
			t.Errorf("keys %q, want only the one held", keys)
		}
	})
	t.Run("lets go by itself after its time", func(t *testing.T) {
		_, p, c := onOpenLink(t)
		p.HoldRequests(50 * time.Millisecond)
		start := time.Now()
		c.ask("PING")
		if took := time.Since(start); took < 50*time.Millisecond {
			t.Errorf("took %v, want at least 50ms", took)
		}
		if got := p.Stats().LateRequests; got != 0 {
			t.Errorf("%d late requests of a client that waited, want 0", got)
		}
	})
}
