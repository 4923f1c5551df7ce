// Package respguard ends a connection before a faulty server can end the process, or give a reply to the wrong command.
//
// Guard wraps the connections that a client of rueidis dials. It counts the commands that leave. What arrives must be RESP within
// bounds, and each reply must be expected; otherwise the connection ends, and the client makes another one. A server without RESP3
// is recognised by its answer to HELLO.
package respguard

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"

	"github.com/redis/rueidis"
	"go.uber.org/atomic"

	"github.com/wheellock/wheellock/dispatcher/quietsocket"
)

// Guard puts a guard before every connection of a client: it follows what leaves (requests.go) and what comes
// (replies.go), and ends the connection before a server can end the process. A broken connection is made again, and
// listens again.
func Guard(o *rueidis.ClientOption) {
	dialCtx, old := o.DialCtxFn, o.DialFn
	o.DialCtxFn = func(ctx context.Context, addr string, dialer *net.Dialer, config *tls.Config) (net.Conn, error) {
		conn, err := dial(ctx, addr, dialer, config, dialCtx, old)
		if err != nil {
			return nil, unsent(err)
		}
		return guard(quietsocket.Wrap(conn)), nil
	}
}

// Watch has ended called, with the address that was dialled, when a connection that Guard guards turns out to be broken. The
// client tries an idle one every KeepAlive, so it is called although nobody waits for an answer. It must not block.
func Watch(o *rueidis.ClientOption, ended func(addr string)) {
	guarding := o.DialCtxFn
	o.DialCtxFn = func(ctx context.Context, addr string, dialer *net.Dialer, config *tls.Config) (net.Conn, error) {
		conn, err := guarding(ctx, addr, dialer, config)
		if g, guarded := conn.(*guarded); guarded {
			g.ended = sync.OnceFunc(func() { ended(addr) })
		}
		return conn, err
	}
}

// unsent marks an error as one of dialling, if it is not marked already: a handshake that fails, or a function of the
// user's, has sent no command, whatever its error looks like.
func unsent(err error) error {
	if dial := (*net.OpError)(nil); errors.As(err, &dial) && dial.Op == "dial" {
		return err
	}
	return &net.OpError{Op: "dial", Net: "tcp", Err: err}
}

// dial is what rueidis would have done.
func dial(ctx context.Context, addr string, dialer *net.Dialer, config *tls.Config,
	dialCtx func(context.Context, string, *net.Dialer, *tls.Config) (net.Conn, error),
	old func(string, *net.Dialer, *tls.Config) (net.Conn, error)) (net.Conn, error) {
	switch {
	case dialCtx != nil:
		return dialCtx(ctx, addr, dialer, config)
	case old != nil:
		return old(addr, dialer, config)
	case config != nil:
		return (&tls.Dialer{NetDialer: dialer, Config: config}).DialContext(ctx, "tcp", addr)
	default:
		return dialer.DialContext(ctx, "tcp", addr)
	}
}

// guarded is a connection that is followed in both directions. As rueidis does, one goroutine at a time reads it, and one
// writes it.
type guarded struct {
	net.Conn
	peeks    peeker // nil: what waits to be read cannot be looked at
	expected expectedReplies
	out      requests
	ended    func()      // see Watch; nil: nobody watches
	closed   atomic.Bool // by us
	answered atomic.Bool // the server has sent something, and not that it is full

	reading sync.Mutex // guards the rest
	in      replies
	failed  error // why it cannot be read any more
	ahead   [1024]byte
}

// peeker is a connection of which can be seen what waits to be read. It does not block; under 1: nothing is seen.
type peeker interface{ Peek(b []byte) int }

func guard(conn net.Conn) *guarded {
	g := &guarded{Conn: conn}
	g.peeks, _ = conn.(peeker)
	g.out.expected, g.in.expected = &g.expected, &g.expected
	return g
}

func (g *guarded) Write(b []byte) (int, error) {
	if err := g.unasked(); err != nil {
		return 0, err
	}
	if err := g.out.follow(b); err != nil {
		return 0, err
	}
	n, err := g.Conn.Write(b)
	return n, g.ending(err)
}

// Close is our end of the connection, of which nobody is told.
func (g *guarded) Close() error {
	g.closed.Store(true)
	return g.Conn.Close()
}

// full is what a server says at maxclients before it hangs up, whatever it was asked.
var full = []byte("-ERR max number of clients")

// ending reports the end of the connection, unless we have closed it: what a read says then depends on the dialler. Before the first answer, to
// HELLO, no command of the engine has left.
func (g *guarded) ending(err error) error {
	switch {
	case err == nil:
		return nil
	case g.ended != nil && !g.closed.Load():
		g.ended()
	}
	if !g.answered.Load() {
		return unsent(err)
	}
	return err
}

// unasked looks for a reply that came before anything was asked: the next command would take it for its answer. It is
// looked for where nothing is expected and nobody reads; a reader finds it at once. Before the first answer a server may say
// why it will not serve us (maxclients). Where nobody can peek, as under TLS, it is found only if it comes in one read
// with the answer that it came before, or while a reader waits.
func (g *guarded) unasked() error {
	if g.peeks == nil || !g.reading.TryLock() {
		return nil
	}
	defer g.reading.Unlock()
	if !g.answered.Load() || g.expected.any() {
		return nil
	}
	n := g.peeks.Peek(g.ahead[:])
	if n < 1 {
		return nil
	}
	seen := g.in // read from there on, and forgotten: Read will come to it
	_, err := seen.follow(g.ahead[:n], false)
	return err
}

// Read reads what the server sends. It returns nothing of a read in which the protocol was broken.
func (g *guarded) Read(b []byte) (int, error) {
	g.reading.Lock()
	defer g.reading.Unlock()
	if g.failed != nil {
		return 0, g.failed
	}
	n, err := g.Conn.Read(b)
	err = g.ending(err)
	if n > 0 {
		if !g.answered.Load() {
			g.answered.Store(!bytes.HasPrefix(b[:n], full))
		}
		if n, g.failed = g.follow(b, n); g.failed != nil {
			return 0, g.failed
		}
	}
	return n, err
}

// follow follows the first n bytes of b. It returns how many there are then.
func (g *guarded) follow(b []byte, n int) (int, error) {
	for from, pass := 0, false; from < n; pass = true {
		used, err := g.in.follow(b[from:n], pass)
		if err != nil {
			return 0, err
		}
		if from += used; from < n {
			if n, err = g.refusal(b, from, n); err != nil {
				return 0, err
			}
		}
	}
	return n, nil
}
