package redisnet

import (
	"bufio"
	"context"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wheellock/wheellock/internal/redismodel"
)

// dialogue is a client on a Link of its own.
type dialogue struct {
	t    *testing.T
	s    *Server
	l    *Link
	conn io.ReadWriteCloser
	in   *bufio.Reader
}

func converse(t *testing.T, test func(d *dialogue)) {
	synctest.Test(t, func(t *testing.T) {
		s := New("a", redismodel.NewInterpreter())
		l := NewLink("client", s)
		conn, err := l.Dial(context.Background(), "", nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer time.Sleep(2 * keepAlive) // the server's side ends
		defer conn.Close()
		test(&dialogue{t, s, l, conn, bufio.NewReader(conn)})
	})
}

func (d *dialogue) say(args ...string) {
	b := appendHeader(nil, '*', len(args))
	for _, arg := range args {
		b = appendText(b, arg)
	}
	d.conn.Write(b)
}

// hear wants lines, so long after now.
func (d *dialogue) hear(after time.Duration, lines ...string) {
	d.t.Helper()
	began := time.Now()
	for _, want := range lines {
		if got, err := d.in.ReadString('\n'); err != nil || got != want+"\r\n" {
			d.t.Errorf("heard %q, %v, want %q", got, err, want)
		}
	}
	if took := time.Since(began); took != after {
		d.t.Errorf("heard after %v, want %v", took, after)
	}
}

func TestLinkDelaysAndHoldsUp(t *testing.T) {
	converse(t, func(d *dialogue) {
		d.l.Up.Delay(func() time.Duration { return 3 * time.Millisecond })
		d.l.Down.Delay(func() time.Duration { return 4 * time.Millisecond })
		d.say("PING")
		d.hear(7*time.Millisecond, "+PONG")
		d.l.Down.Hold(time.Now().Add(time.Second))
		d.say("PING")
		d.hear(time.Second, "+PONG")
		d.l.HoldUp(time.Now().Add(time.Second))
		d.say("PING")
		d.hear(time.Second+4*time.Millisecond, "+PONG")
	})
}

func TestLinkHoldsUpOneName(t *testing.T) {
	converse(t, func(d *dialogue) {
		d.l.Up.HoldUpNamed("mine", time.Second)
		d.say("EXISTS", "another")
		d.hear(0, ":0")
		d.say("EXISTS", "mine")
		d.say("PING") // comes behind it
		d.hear(time.Second, ":0", "+PONG")
		d.say("EXISTS", "mine")
		d.hear(0, ":0")
	})
}

func TestLinkCutsAtAByte(t *testing.T) {
	converse(t, func(d *dialogue) {
		d.l.CutBehind(3, true)
		d.say("PING")
		b, err := io.ReadAll(d.in)
		if string(b) != "+PO" || err == nil {
			t.Errorf("read %q, %v", b, err)
		}
	})
}

// What vanishes is never followed by anything: the connection is half open until somebody's patience ends.
func TestLinkLoses(t *testing.T) {
	converse(t, func(d *dialogue) {
		d.l.Down.Lose(time.Now().Add(time.Second))
		d.say("SET", "x", "1")
		time.Sleep(2 * time.Second)
		d.say("PING")
		conn := d.conn.(*conn)
		conn.SetReadDeadline(time.Now().Add(time.Second))
		if n, err := conn.Read(make([]byte, 1)); n != 0 || err == nil {
			t.Errorf("read %d bytes, %v", n, err)
		}
		if v := d.s.Do("GET", "x"); v.Str != "1" {
			t.Errorf("GET = %v: the command itself was not lost", v)
		}
	})
}

// A command whose answer gets lost has run, and so does what was sent behind it.
func TestLinkSwallowsAnAnswer(t *testing.T) {
	converse(t, func(d *dialogue) {
		d.l.Down.Swallow(1, func(args []string) bool { return args[0] == "SET" })
		d.say("EXISTS", "x")
		d.say("SET", "x", "1")
		d.say("SET", "y", "1")
		d.hear(0, ":0")
		if _, err := d.in.ReadByte(); err == nil {
			t.Error("the connection lives on")
		}
		synctest.Wait() // until the server has run what was sent behind it
		if n := d.s.Do("EXISTS", "x", "y").Int; n != 2 || d.l.Down.Swallows() != 0 {
			t.Errorf("%d commands ran, %d answers are still to get lost", n, d.l.Down.Swallows())
		}
	})
}

func TestLinkSaysWhatTheServerDoesNot(t *testing.T) {
	converse(t, func(d *dialogue) {
		d.l.Down.Spoil([]byte("+NO\r\n"))
		d.say("PING")
		d.hear(0, "+NO")
		d.l.Say([]byte("+MORE\r\n"))
		d.say("PING")
		d.hear(0, "+MORE", "+PONG")
	})
}

func TestServerClockSteps(t *testing.T) {
	converse(t, func(d *dialogue) {
		d.s.Do("SET", "x", "1", "PX", "1000")
		d.s.Step(-time.Hour)
		if left := d.s.Do("PTTL", "x").Int; left != 3601_000 {
			t.Errorf("PTTL = %d", left)
		}
		d.s.Step(2 * time.Hour)
		if left := d.s.Do("PTTL", "x").Int; left != -2 {
			t.Errorf("PTTL = %d", left)
		}
	})
}

func TestServerTellsPlainAndShardedChannelsApart(t *testing.T) {
	converse(t, func(d *dialogue) {
		d.say("SUBSCRIBE", "x")
		d.say("SSUBSCRIBE", "x")
		d.say("UNSUBSCRIBE", "x")
		synctest.Wait()
		if n := d.s.Do("PUBLISH", "x", "1").Int; n != 0 {
			t.Errorf("PUBLISH reached %d", n)
		}
		if n := d.s.Do("SPUBLISH", "x", "1").Int; n != 1 {
			t.Errorf("SPUBLISH reached %d", n)
		}
		if got := d.s.Subscriptions(); !slices.Equal(got, []string{"client x"}) {
			t.Errorf("Subscriptions = %q", got)
		}
	})
}

func TestServerLosesMessagesAndListeners(t *testing.T) {
	converse(t, func(d *dialogue) {
		d.say("HELLO", "3")
		d.say("SUBSCRIBE", "x")
		synctest.Wait()
		lost := 0
		d.s.LoseMessages(func() bool { lost++; return lost == 1 })
		d.s.Do("PUBLISH", "x", "first")
		d.s.Do("PUBLISH", "x", "second")
		if n := d.s.KillListeners(); n != 1 {
			t.Errorf("%d connections listened", n)
		}
		if b, _ := io.ReadAll(d.in); lost != 2 || strings.Contains(string(b), "first") {
			t.Errorf("of %d messages %q arrived", lost, b)
		}
	})
}

func TestServerRestarts(t *testing.T) {
	converse(t, func(d *dialogue) {
		d.s.Do("SET", "x", "1")
		was := d.s.Save()
		d.s.Do("SET", "x", "2")
		d.s.Stop()
		if _, err := d.conn.Read(make([]byte, 1)); err == nil {
			t.Error("the connection lives on")
		}
		if _, err := d.l.Dial(context.Background(), "", nil, nil); err == nil {
			t.Error("somebody connected")
		}
		d.s.Start(&was)
		if v := d.s.Do("GET", "x"); v.Str != "1" {
			t.Errorf("GET = %v", v)
		}
	})
}
