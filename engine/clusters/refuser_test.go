package clusters_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/wheellock/wheellock/engine"
)

// refuser stands between engines and a node, and has the node refuse wide calls in its own words, as other servers do.
type refuser struct {
	addr    string
	script  string // what runs in place of each wide call
	refuses atomic.Bool
	wide    atomic.Int64 // how many it has seen
}

// options has an engine dial by way of r.
func (r *refuser) options(o *engine.Options) {
	o.Redis.DialCtxFn = func(ctx context.Context, addr string, dialer *net.Dialer, _ *tls.Config) (net.Conn, error) {
		conn, err := dialer.DialContext(ctx, "tcp", addr)
		if err != nil || addr != r.addr {
			return conn, err
		}
		return &refusingConn{Conn: conn, refuser: r}, nil
	}
}

// refusingConn is a connection of a client.
type refusingConn struct {
	net.Conn
	*refuser
	unsent []byte // the beginning of a command
}

func (c *refusingConn) Write(p []byte) (int, error) {
	c.unsent = append(c.unsent, p...)
	var out []byte
	for {
		args, size := readCommand(c.unsent)
		if size == 0 {
			break
		}
		wide := strings.HasPrefix(args[0], "EVAL") && args[len(args)-1] == "KEYS"
		if wide {
			c.wide.Add(1)
		}
		if wide && c.refuses.Load() {
			args = slices.Clone(args)
			args[0], args[1] = "EVAL", c.script
			out = append(out, "*"+strconv.Itoa(len(args))+"\r\n"...)
			for _, arg := range args {
				out = append(out, "$"+strconv.Itoa(len(arg))+"\r\n"+arg+"\r\n"...)
			}
		} else {
			out = append(out, c.unsent[:size]...)
		}
		c.unsent = c.unsent[size:]
	}
	if _, err := c.Conn.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}

// readCommand reads one command of a client, and its size; 0: it is not whole.
func readCommand(p []byte) (args []string, size int) {
	line := func() (n int, whole bool) {
		end := bytes.Index(p[size:], []byte("\r\n"))
		if end < 0 {
			return 0, false
		}
		n, _ = strconv.Atoi(string(p[size+1 : size+end]))
		size += end + 2
		return n, true
	}
	n, whole := line()
	for range n {
		length, has := line()
		if whole = whole && has && len(p) >= size+length+2; !whole {
			return nil, 0
		}
		args = append(args, string(p[size:size+length]))
		size += length + 2
	}
	if !whole {
		return nil, 0
	}
	return args, size
}
