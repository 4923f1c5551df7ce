package redistest

import (
	"errors"
	"syscall"
	"testing"
	"time"

	"github.com/wheellock/wheellock/internal/testkit/resp"
)

func TestCut(t *testing.T) {
	t.Parallel()
	s, p, c := onOpenLink(t)
	other := dial(t, p)
	other.ask("PING")
	if got := p.Cut(); got != 2 {
		t.Errorf("cut %d connections, want 2", got)
	}
	c.wantReset()
	other.wantReset()
	Await(t, "a server without clients", func() bool { return s.ClientCount("normal") == 0 })
	if got := p.Stats(); got.Cut != 2 || got.Open != 0 {
		t.Errorf("%+v, want 2 cut and none open", got)
	}
	dial(t, p).ask("PING")
}

func TestCutHoled(t *testing.T) {
	t.Parallel()
	s, p, c := onOpenLink(t)
	holed := dial(t, p)
	holed.ask("PING")
	p.Drop(ClientToServer, true)
	holed.send("PING")
	Await(t, "the request to be lost", func() bool { return p.Stats().Dropped > 0 })
	p.Drop(ClientToServer, false)
	if got := p.CutHoled(); got != 1 {
		t.Errorf("cut %d connections, want 1", got)
	}
	holed.wantReset()
	c.ask("PING")
	Await(t, "a server with one client", func() bool { return s.ClientCount("normal") == 1 })
}

func TestCutAfterEveryByteOfARequest(t *testing.T) {
	t.Parallel()
	s := Start(t)
	p := NewProxy(t, s.Addr())
	request := resp.AppendCommand(nil, "INCR", "n")
	p.CutAfter(ClientToServer, 0)
	wantNoConnection(t, p)
	for n := 1; n < len(request); n++ {
		p.CutAfter(ClientToServer, int64(n))
		c := dial(t, p)
		c.write(request)
		c.wantReset()
	}
	if keys := s.Keys(); len(keys) != 0 {
		t.Errorf("keys %q: part of a request ran", keys)
	}
	p.CutAfter(ClientToServer, int64(len(request)))
	dial(t, p).write(request)
	Await(t, "the whole request's effect", func() bool { return s.Do("GET", "n").Text == "1" })
	Await(t, "the end of the link", func() bool { return p.Stats().Open == 0 })
	if got := p.Stats().Cut; got != int64(len(request))+1 {
		t.Errorf("%d cut, want %d", got, len(request)+1)
	}
}

func TestCutAfterBytesOfAnAnswer(t *testing.T) {
	t.Parallel()
	s := Start(t)
	p := NewProxy(t, s.Addr())
	p.CutAfter(ServerToClient, 3)
	c := dial(t, p)
	c.send("PING")
	for _, want := range []byte("+PO") {
		if got, err := c.reader.ReadByte(); err != nil || got != want {
			t.Fatalf("read %q, %v; want %q", got, err, want)
		}
	}
	c.wantReset()
	p.CutAfter(Both, -1)
	dial(t, p).ask("PING")
}

func TestCutWithin(t *testing.T) {
	t.Parallel()
	s, p, c := onOpenLink(t)
	p.CutWithin(ClientToServer, 14)
	p.CutWithin(Both, 0)
	c.ask("PING")
	p.CutWithin(ClientToServer, 14) // a PING, whole or in part
	p.CutWithin(ClientToServer, 1<<40)
	later := dial(t, p)
	later.ask("PING")
	c.send("PING")
	if reply := resp.Read(c.reader); reply.Text == "PONG" { // the whole of it, and no byte more
		c.wantReset()
	} else if !errors.Is(reply.Lost(), syscall.ECONNRESET) {
		t.Errorf("read %v; want a reset", reply)
	}
	later.ask("PING")
	Await(t, "a server with one client", func() bool { return s.ClientCount("normal") == 1 })
	if got := p.Stats().Cut; got != 1 {
		t.Errorf("%d cut, want 1", got)
	}
}

func TestCutEvery(t *testing.T) {
	t.Parallel()
	_, p, c := onOpenLink(t)
	p.CutEvery(5 * time.Millisecond)
	c.wantReset()
	wantNoConnection(t, p)
	p.CutEvery(time.Hour)
	p.CutEvery(0)
	dial(t, p).ask("PING")
}

func TestHalfClose(t *testing.T) {
	t.Parallel()
	t.Run("towards the client leaves its requests to be run", func(t *testing.T) {
		s, p, c := onOpenLink(t)
		p.HalfClose(ServerToClient)
		c.wantEOF()
		c.send("SET", "k", "v")
		Await(t, "the request's effect", func() bool { return s.Do("GET", "k").Text == "v" })
		_ = c.conn.Close()
		Await(t, "the end of the link", func() bool { return p.Stats().Open == 0 })
	})
	t.Run("towards the server makes Redis hang up", func(t *testing.T) {
		s, p, c := onOpenLink(t)
		p.HalfClose(ClientToServer)
		c.wantEOF()
		Await(t, "a server without clients", func() bool { return s.ClientCount("normal") == 0 })
	})
}

func TestRefuseNew(t *testing.T) {
	t.Parallel()
	s, p, c := onOpenLink(t)
	p.RefuseNew(true)
	wantNoConnection(t, p)
	if got := c.ask("PING"); got.Text != "PONG" {
		t.Errorf("an older connection: %v, want PONG", got)
	}
	p.RefuseNew(false)
	dial(t, p).ask("PING")
	if got := p.Stats(); got.Refused != 1 || s.ClientCount("normal") != 2 {
		t.Errorf("%+v, want 1 refused and 2 clients", got)
	}
}
