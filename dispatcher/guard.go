package dispatcher

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync/atomic"

	"github.com/redis/rueidis"
)

// Guard has the client's connections break where rueidis (1.0.79) would end the process. It sends a PING behind
// each UNSUBSCRIBE, because the confirmation of that is no answer, and takes BUSY for what the PING was told. A
// server that is busy with a script refuses both: the second answer belongs to nothing, which rueidis calls a
// protocol bug and panics, on a goroutine of its own. A server that refuses the PING alone, by MISCONF or
// MASTERDOWN, has it lose count, and the next call waits for ever. A broken connection is made again, and listens
// again.
func Guard(o *rueidis.ClientOption) {
	given, old := o.DialCtxFn, o.DialFn
	o.DialCtxFn = func(ctx context.Context, addr string, dialer *net.Dialer, config *tls.Config) (net.Conn, error) {
		conn, err := dial(ctx, addr, dialer, config, given, old)
		if err != nil {
			return nil, unsent(err)
		}
		return &guarded{Conn: quieten(conn)}, nil
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
	given func(context.Context, string, *net.Dialer, *tls.Config) (net.Conn, error),
	old func(string, *net.Dialer, *tls.Config) (net.Conn, error)) (net.Conn, error) {
	switch {
	case given != nil:
		return given(ctx, addr, dialer, config)
	case old != nil:
		return old(addr, dialer, config)
	case config != nil:
		return (&tls.Dialer{NetDialer: dialer, Config: config}).DialContext(ctx, "tcp", addr)
	default:
		return dialer.DialContext(ctx, "tcp", addr)
	}
}

// guarded is a connection that ends with the first refusal after an UNSUBSCRIBE. A connection that listens gives
// nothing else to lose: the ear takes every refusal for the end of it, but that of a right (NOPERM), and what a cluster
// says of a channel whose hash slot has left (MOVED) or is served by nobody (CLUSTERDOWN): these leave the PING alone, so
// that rueidis counts well. A node may go on saying them; were they the end, the other channels would be cut off each time.
type guarded struct {
	net.Conn
	unsubscribes atomic.Bool
	at           place // owned by the reader
}

// place is where in an answer a connection is read.
type place uint8

const (
	lineStart place = iota
	afterDash
	afterM
	inLine
)

// errRefused ends a connection that cannot be counted on any more.
var errRefused = errors.New("wheellock: the server refused to unsubscribe")

// commandBytes is how far into a write the name of its command stands, with a PING of the keep-alive before it.
const commandBytes = 64

func (g *guarded) Write(b []byte) (int, error) {
	if start := b[:min(len(b), commandBytes)]; bytes.Contains(start, []byte("UNSUBSCRIBE\r\n")) {
		g.unsubscribes.Store(true)
	}
	return g.Conn.Write(b)
}

func (g *guarded) Read(b []byte) (int, error) {
	n, err := g.Conn.Read(b)
	if g.unsubscribes.Load() && g.refused(b[:n]) {
		return 0, errRefused
	}
	return n, err
}

// refused looks for an answer that is an error: a line of a dash and a capital. The text of a message may look like
// one; then the connection is made anew for nothing.
func (g *guarded) refused(b []byte) bool {
	for _, c := range b {
		switch {
		case c == '\n':
			g.at = lineStart
		case g.at == lineStart && c == '-':
			g.at = afterDash
		case g.at == afterDash && c == 'M':
			g.at = afterM
		case g.at == afterM && c != 'O', // MOVED
			g.at == afterDash && c >= 'A' && c <= 'Z' && c != 'N' && c != 'C': // NOPERM, NOAUTH, CLUSTERDOWN
			return true
		default:
			g.at = inLine
		}
	}
	return false
}
