package redistest

import (
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/wheellock/wheellock/internal/testkit/child"
)

// Proxy stands between clients and one server and breaks the network between them when told (faults.go).
// With no fault set it passes every byte, half-close and reset on. Any goroutine may call its methods.
type Proxy struct {
	target   string
	listener net.Listener
	running  sync.WaitGroup // every goroutine of the proxy
	closing  chan struct{}  // closed by Close
	once     sync.Once      // of Close

	mu           sync.Mutex // guards the rest; held for a moment, never while blocking
	links        map[*link]bool
	faults       [2]fault // by stream
	refuse       bool
	loseMessages bool
	swallow      *swallowing // nil: nothing
	closed       bool
	stats        Stats
}

// Stats counts what the proxy did since it was started, and tells what it holds now.
type Stats struct {
	Accepted int64 // connections taken from clients
	Open     int   // connections that exist now
	Cut      int64 // connections that the proxy has reset

	WaitingToServer int64 // bytes inside the proxy now: on their way, delayed or in a black hole
	WaitingToClient int64

	Swallowed int64 // answers lost by SwallowReply
}

// NewProxy starts a proxy before the server at target ("host:port") until the end of the test. It is there
// even while the server is not.
func NewProxy(tb testing.TB, target string) *Proxy {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatalf("redistest: proxy: %v", err)
	}
	p := &Proxy{
		target:   target,
		listener: listener,
		closing:  make(chan struct{}),
		links:    make(map[*link]bool),
	}
	p.running.Go(p.accept)
	tb.Cleanup(p.Close)
	return p
}

// Addr is the proxy's "host:port".
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// URL is the proxy's address as clients take it, without any password.
func (p *Proxy) URL() string { return "redis://" + p.Addr() }

// Stats tells what has happened so far.
func (p *Proxy) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.stats
	now.Open = len(p.links)
	for l := range p.links {
		now.WaitingToServer += int64(l.toServer.queued)
		now.WaitingToClient += int64(l.toClient.queued)
	}
	return now
}

// Close resets every connection and returns when no goroutine of the proxy is left. Bytes still inside
// are lost. NewProxy has the test call it; calling it again does nothing.
func (p *Proxy) Close() {
	p.once.Do(func() {
		p.mu.Lock()
		p.closed = true
		for l := range p.links {
			l.resetLocked()
		}
		p.mu.Unlock()
		close(p.closing)
		_ = p.listener.Close() // ends accept
	})
	p.running.Wait()
}

func (p *Proxy) accept() {
	for {
		conn, err := p.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // such as out of file descriptors: the client stays in the backlog meanwhile
			select {
			case <-time.After(child.PollEvery):
				continue
			case <-p.closing:
				return
			}
		}
		p.admit(conn.(*net.TCPConn))
	}
}

// admit makes a link of a client's connection, or resets it.
func (p *Proxy) admit(client *net.TCPConn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.refuse {
		reset(client)
		return
	}
	p.stats.Accepted++
	l := newLink(p, client)
	p.links[l] = true
	p.running.Go(l.run)
}

// reset closes a connection so that the other side sees a reset, not an orderly end. It does not block.
func reset(conn *net.TCPConn) {
	_ = conn.SetLinger(0) // fails only on a closed connection
	_ = conn.Close()
}
