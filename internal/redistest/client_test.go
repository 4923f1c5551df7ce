package redistest

import (
	"bufio"
	"errors"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/wheellock/wheellock/internal/testkit/resp"
)

// client is a bare connection to a server or proxy, with every byte under the test's control.
type client struct {
	t      *testing.T
	conn   *net.TCPConn
	reader *bufio.Reader
}

// dial connects; the connection ends with the test. Reads and writes fail after the usual patience.
func dial(t *testing.T, to Endpoint) *client {
	t.Helper()
	conn, err := net.Dial("tcp", to.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return &client{t: t, conn: conn.(*net.TCPConn), reader: bufio.NewReader(conn)}
}

func (c *client) send(args ...string) { c.write(resp.AppendCommand(nil, args...)) }

func (c *client) write(bytes []byte) {
	c.t.Helper()
	if _, err := c.conn.Write(bytes); err != nil {
		c.t.Fatalf("writing %q: %v", bytes, err)
	}
}

func (c *client) read() Reply {
	c.t.Helper()
	reply := resp.Read(c.reader)
	if err := reply.Lost(); err != nil {
		c.t.Fatalf("reading an answer: %v", err)
	}
	return reply
}

func (c *client) ask(args ...string) Reply {
	c.t.Helper()
	c.send(args...)
	return c.read()
}

// wantReset asserts that the connection ends by a reset, with nothing to read before.
func (c *client) wantReset() {
	c.t.Helper()
	if reply := resp.Read(c.reader); !errors.Is(reply.Lost(), syscall.ECONNRESET) {
		c.t.Fatalf("read %v; want a reset", reply)
	}
}
