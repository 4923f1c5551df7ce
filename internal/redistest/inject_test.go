package redistest

import (
	"testing"

	"github.com/wheellock/wheellock/internal/testkit/resp"
)

func TestInjectIdle(t *testing.T) {
	t.Parallel()
	_, p, c := onOpenLink(t)
	if n := p.InjectIdle([]byte(":7\r\n")); n != 1 {
		t.Fatalf("injected into %d connections, want 1", n)
	}
	if got := c.read(); got.Int != 7 {
		t.Errorf("read %v, want the injected 7", got)
	}
	p.BlackHole(ServerToClient, true)
	c.send("PING")
	Await(t, "a request under way", func() bool { return p.InjectIdle(nil) == 0 })
	p.BlackHole(ServerToClient, false)
	if got := c.read(); got.Text != "PONG" {
		t.Errorf("read %v, want PONG", got)
	}
}

func TestInjectAtAnAnswer(t *testing.T) {
	t.Parallel()
	_, p, c := onOpenLink(t)
	p.Inject(BehindAnswer, []byte(":7\r\n"), 1)
	c.write(append(resp.AppendCommand(nil, "PING"), resp.AppendCommand(nil, "ECHO", "a")...))
	for _, want := range []string{"PONG", "a"} {
		if got := c.read(); got.Text != want {
			t.Errorf("read %v, want %q", got, want)
		}
	}
	if got := c.read(); got.Int != 7 {
		t.Errorf("read %v, want the injected 7 behind the last answer", got)
	}
	p.Inject(WithinAnswer, []byte("xy"), 1)
	if got := c.ask("PING"); got.Text != "POxyNG" && got.Text != "PxyONG" {
		t.Errorf("read %v, want a torn PONG", got)
	}
	if got := c.ask("PING"); got.Text != "PONG" || p.Stats().Injected != 2 {
		t.Errorf("read %v, %d injections; want PONG and 2", got, p.Stats().Injected)
	}
}
