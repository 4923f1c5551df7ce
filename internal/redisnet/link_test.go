package redisnet

import (
	"bufio"
	"context"
	"io"
	"slices"
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
