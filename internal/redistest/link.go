package redistest

import (
	"net"
	"sync"
)

// link is one client's connection and the proxy's own to the server for it. It has four goroutines: each
// stream has one that reads and one that delivers, so that what waits in a stream does not keep the proxy
// from seeing what its sender does next.
type link struct {
	proxy    *Proxy
	client   *net.TCPConn
	toServer *stream
	toClient *stream
	down     chan struct{} // closed when the link is over

	// Guarded by Proxy.mu.
	server *net.TCPConn // nil until dialled
	over   bool
	mute   bool // the answer to a request is to be swallowed
}

// newLink is called with Proxy.mu held.
func newLink(p *Proxy, client *net.TCPConn) *link {
	l := &link{proxy: p, client: client, down: make(chan struct{})}
	l.toServer = newStream(l, clientToServer)
	l.toClient = newStream(l, serverToClient)
	return l
}

// run dials the server and carries bytes until the link is over. The client is read from the start: it
// may write, leave or reset while a black hole keeps us from dialling.
func (l *link) run() {
	var streams sync.WaitGroup
	defer streams.Wait()
	streams.Go(func() { l.toServer.read(l.client) })
	if !l.toServer.awaitPath() {
		return
	}
	conn, err := net.DialTimeout("tcp", l.proxy.target, patience)
	if err != nil {
		l.end()
		return
	}
	server := conn.(*net.TCPConn)
	if !l.connected(server) {
		reset(server)
		return
	}
	streams.Go(func() { l.toClient.read(server) })
	streams.Go(func() { l.toClient.deliver(l.client) })
	l.toServer.deliver(server)
}

// connected notes the connection to the server, unless the link has ended meanwhile.
func (l *link) connected(server *net.TCPConn) bool {
	l.proxy.mu.Lock()
	defer l.proxy.mu.Unlock()
	if l.over {
		return false
	}
	l.server = server
	return true
}

// end resets both sides.
func (l *link) end() {
	l.proxy.mu.Lock()
	defer l.proxy.mu.Unlock()
	l.resetLocked()
}

// resetLocked resets both sides at once; whatever waits in the streams is lost.
func (l *link) resetLocked() { l.closeLocked(true) }

// closeLocked ends the link, once.
func (l *link) closeLocked(abruptly bool) {
	if l.over {
		return
	}
	l.over = true
	if abruptly {
		l.proxy.stats.Cut++
	}
	close(l.down)
	delete(l.proxy.links, l)
	for _, conn := range []*net.TCPConn{l.client, l.server} {
		switch {
		case conn == nil:
		case abruptly:
			reset(conn)
		default:
			_ = conn.Close() // closed already if the stream reset it
		}
	}
}

// streamDone notes that a stream has nothing more to do; with the second the link is over.
func (l *link) streamDone(done *stream) {
	l.proxy.mu.Lock()
	defer l.proxy.mu.Unlock()
	done.done = true
	if l.toServer.done && l.toClient.done {
		l.closeLocked(false)
	}
}
