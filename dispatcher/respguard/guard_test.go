package respguard

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/dispatcher/rediserr"
)

// scripted is a connection whose reads are given.
type scripted struct {
	net.Conn
	reads []string
}

func (s *scripted) Read(b []byte) (int, error) {
	n := copy(b, s.reads[0])
	s.reads = s.reads[1:]
	return n, nil
}

func (s *scripted) Write(b []byte) (int, error) { return len(b), nil }

// What rueidis cannot count ends the connection (invariant: one-command-per-name: every way in which a message can be lost ends in asking again).
func TestGuard(t *testing.T) {
	const unsubscribe = "*2\r\n$11\r\nUNSUBSCRIBE\r\n$1\r\nc\r\n*1\r\n$4\r\nPING\r\n"
	for _, c := range []struct {
		name   string
		write  string
		reads  []string
		breaks bool
	}{
		{"busy", unsubscribe, []string{"-BUSY a script\r\n-BUSY a script\r\n"}, true},
		{"the PING alone refused", unsubscribe, []string{">3\r\n$11\r\nunsubscribe\r\n$1\r\nc\r\n:0\r\n-MISCONF disk\r\n"}, true},
		{"in pieces", unsubscribe, []string{"+PONG\r\n", "-", "BUSY\r\n"}, true},
		{"a shard's channel", "*2\r\n$12\r\nSUNSUBSCRIBE\r\n$1\r\nc\r\n", []string{"-BUSY a script\r\n"}, true},
		{"behind a keep-alive", "*1\r\n$4\r\nPING\r\n" + unsubscribe, []string{"-BUSY a script\r\n-BUSY a script\r\n"}, true},
		{"no right to PING", unsubscribe, []string{"-NOPERM no\r\n+PONG\r\n"}, false},
		{"a hash slot that has left", unsubscribe, []string{"-M", "OVED 7 10.0.0.1:6379\r\n+PONG\r\n"}, false},
		{"a hash slot that nobody serves", unsubscribe, []string{"-CLUSTERDOWN Hash slot not served\r\n+PONG\r\n"}, false},
		{"permits below none", unsubscribe, []string{">3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$2\r\n-1\r\n+PONG\r\n"}, false},
		{"commands", strings.Repeat("*2\r\n$3\r\nGET\r\n$1\r\na\r\n", 2), []string{"-BUSY a script\r\n-OOM memory\r\n"}, false},
		{"subscribing", "*2\r\n$9\r\nSUBSCRIBE\r\n$1\r\nc\r\n", []string{"-BUSY a script\r\n"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := guard(&scripted{reads: c.reads})
			if _, err := g.Write([]byte(c.write)); err != nil {
				t.Fatal(err)
			}
			var err error
			for range c.reads {
				_, err = g.Read(make([]byte, 256))
			}
			if (err != nil) != c.breaks {
				t.Errorf("read: %v, want an error: %v", err, c.breaks)
			}
		})
	}
}

// A connection that was never made has sent nothing, whatever the error looks like: a handshake's is none of the net
// package's.
func TestFailedHandshakeHasSentNothing(t *testing.T) {
	handshake := errors.New("tls: failed to verify certificate")
	o := rueidis.ClientOption{DialCtxFn: func(context.Context, string, *net.Dialer, *tls.Config) (net.Conn, error) { return nil, handshake }}
	Guard(&o)
	_, err := o.DialCtxFn(t.Context(), "redis:6379", &net.Dialer{}, nil)
	if v := rediserr.Judge(err); v.Result != gate.NotSent || !v.Link || !errors.Is(err, handshake) {
		t.Errorf("%v is judged %+v, want NotSent", err, v)
	}
}

// Only the server's end of a connection is told of, whatever a read says of our own: over a pipe it is not net.ErrClosed.
func TestWatchTellsOfTheServersEndAlone(t *testing.T) {
	for _, ours := range []bool{true, false} {
		here, there := net.Pipe()
		told := false
		o := rueidis.ClientOption{DialCtxFn: func(context.Context, string, *net.Dialer, *tls.Config) (net.Conn, error) { return here, nil }}
		Guard(&o)
		Watch(&o, func(string) { told = true })
		conn, err := o.DialCtxFn(t.Context(), "redis:6379", &net.Dialer{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if ours {
			conn.Close()
		} else {
			there.Close()
		}
		if _, err := conn.Read(make([]byte, 1)); err == nil || told == ours {
			t.Errorf("closed by us %v: told %v, read %v", ours, told, err)
		}
	}
}
