package redisnet

import (
	"bytes"
	"context"
	"crypto/tls"
	"net"
	"sync"
	"syscall"
	"time"
)

// Link is the way from one client to one server. Any goroutine may use it.
type Link struct {
	Up, Down Direction
	client   string
	server   *Server

	mu      sync.Mutex // guards the rest
	refused time.Time  // until then nobody connects
	silent  time.Time  // until then who connects hears nothing
	conns   map[*conn]*conn
}

// Direction is one direction of a Link.
type Direction struct {
	mu    sync.Mutex           // guards the rest
	delay func() time.Duration // nil: none
	held  time.Time            // what is sent before then arrives then
	lossy time.Time            // what is sent before then vanishes
	named string               // what is sent next with this in it arrives so much later, and what follows it on its connection; "": nothing
	late  time.Duration
	spoil []byte                   // goes in place of what is sent next; nil: nothing does
	loses func(args []string) bool // whether the answer to this command gets lost; nil: none does
	left  int                      // so often; under 0: without end
}

// NewLink makes a way to a server, for a client of that name.
func NewLink(client string, s *Server) *Link {
	return &Link{client: client, server: s, conns: make(map[*conn]*conn)}
}

// Delay has everything take the time that is asked for each time; nil: none.
func (d *Direction) Delay(of func() time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.delay = of
}

// Hold has what is sent arrive at that time at the earliest.
func (d *Direction) Hold(until time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if until.After(d.held) {
		d.held = until
	}
}

// HoldUpNamed has what is sent next with that name in it arrive so much later, once, and all behind it on its connection.
func (d *Direction) HoldUpNamed(name string, late time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.named, d.late = name, late
}

// lateness is how much later b arrives for what it names.
func (d *Direction) lateness(b []byte) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.named == "" || !bytes.Contains(b, []byte(d.named)) {
		return 0
	}
	d.named = ""
	return d.late
}

// Spoil has b go in place of what is sent next.
func (d *Direction) Spoil(b []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.spoil = b
}

// spoiled is what goes in place of b.
func (d *Direction) spoiled(b []byte) []byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.spoil != nil {
		b, d.spoil = d.spoil, nil
	}
	return b
}

// Swallow has the answers to so many commands get lost, of those that match; under 0: without end. The command has run. In place of the
// answer its client gets a reset connection; what it had sent behind still reaches the server.
func (d *Direction) Swallow(times int, match func(args []string) bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.left, d.loses = times, match
}

// Swallows is how many answers are still to get lost.
func (d *Direction) Swallows() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.left
}

// swallows reports whether the answer to this command gets lost.
func (d *Direction) swallows(args []string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.left == 0 || !d.loses(args) {
		return false
	}
	d.left--
	return true
}

// mend ends what is wrong with it.
func (d *Direction) mend(delay func() time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.delay, d.held, d.lossy, d.named, d.spoil, d.left = delay, time.Time{}, time.Time{}, "", nil, 0
}

// Lose has what is sent before that time vanish, and all behind it on the same connection.
func (d *Direction) Lose(until time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lossy = until
}

// arrival is when what is sent now arrives; false: never.
func (d *Direction) arrival() (time.Time, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	at := time.Now()
	if at.Before(d.lossy) {
		return at, false
	}
	if d.delay != nil {
		at = at.Add(d.delay())
	}
	if at.Before(d.held) {
		at = d.held
	}
	return at, true
}

// Refuse has nobody connect before that time.
func (l *Link) Refuse(until time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refused = until
}

// Silence has whoever connects wait until that time, or until his patience ends.
func (l *Link) Silence(until time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.silent = until
}

// Cut breaks all connections.
func (l *Link) Cut() {
	l.each(func(client, _ *conn) { client.cut() })
}

// Hold has nothing that is sent, either way, arrive before that time: a partition.
func (l *Link) Hold(until time.Time) {
	l.Up.Hold(until)
	l.Down.Hold(until)
}

// HoldUp has what clients send on the connections of now arrive at that time at the earliest; who connects anew is not held up.
func (l *Link) HoldUp(until time.Time) {
	l.each(func(client, _ *conn) { client.hold(until) })
}

// CutBehind breaks each connection when so many more bytes have passed: of the client's, or of the server's.
func (l *Link) CutBehind(bytes int, answers bool) {
	l.each(func(client, server *conn) {
		if answers {
			server.cutBehind(bytes)
		} else {
			client.cutBehind(bytes)
		}
	})
}

// Say has the server's side say b on each connection.
func (l *Link) Say(b []byte) {
	l.each(func(_, server *conn) { server.Write(b) })
}

func (l *Link) each(do func(client, server *conn)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for client, server := range l.conns {
		do(client, server)
	}
}

// Open is how many connections the client has not closed.
func (l *Link) Open() (n int) {
	l.each(func(client, _ *conn) {
		if client.isOpen() {
			n++
		}
	})
	return n
}

// Mend ends all that is wrong with the way; what is held arrives at its time. Everything takes the time that is asked for.
func (l *Link) Mend(delay func() time.Duration) {
	now := time.Now()
	l.Up.mend(delay)
	l.Down.mend(delay)
	l.Refuse(now)
	l.Silence(now)
	l.CutBehind(-1, false)
	l.CutBehind(-1, true)
}

// Dial connects. It is a rueidis.ClientOption.DialCtxFn.
func (l *Link) Dial(ctx context.Context, _ string, dialer *net.Dialer, _ *tls.Config) (net.Conn, error) {
	l.mu.Lock()
	refused, silent := l.refused, l.silent
	l.mu.Unlock()
	now := time.Now()
	if now.Before(refused) || l.server.down() {
		return nil, &net.OpError{Op: "dial", Net: "memory", Err: syscall.ECONNREFUSED}
	}
	if now.Before(silent) {
		if dialer != nil && dialer.Timeout > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, dialer.Timeout)
			defer cancel()
		}
		timer := time.NewTimer(time.Until(silent))
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return nil, &net.OpError{Op: "dial", Net: "memory", Err: ctx.Err()}
		}
	}
	client, server := pair(&l.Up, &l.Down)
	l.mu.Lock()
	l.conns[client] = server
	l.mu.Unlock()
	if !l.server.serve(l.client, server, func() {
		l.mu.Lock()
		delete(l.conns, client)
		l.mu.Unlock()
	}) {
		return nil, &net.OpError{Op: "dial", Net: "memory", Err: syscall.ECONNREFUSED}
	}
	return client, nil
}
