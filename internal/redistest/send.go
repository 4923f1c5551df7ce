package redistest

import "net"

// send writes bytes to the receiver, short of an answer that is to be swallowed and of what CutWithin forbids, and ends the link where a fault says so.
func (l *stream) send(to *net.TCPConn, data []byte) {
	if l.deaf {
		return
	}
	swallow := false
	if l.dir == serverToClient {
		data, swallow = l.answers.pass(data)
	}
	data, last := l.spend(data)
	l.write(to, data)
	switch {
	case last:
		l.link.cut()
	case swallow:
		// Only the client learns of it: what it sent before goes on to the server.
		reset(to)
		l.deaf = true
	}
}

// spend takes data out of the budget, as far as it goes; last says that nothing may follow.
func (l *stream) spend(data []byte) (allowed []byte, last bool) {
	l.link.proxy.mu.Lock()
	defer l.link.proxy.mu.Unlock()
	if l.budget < 0 {
		return data, false
	}
	data = data[:min(int64(len(data)), l.budget)]
	l.budget -= int64(len(data))
	return data, l.budget == 0
}

// write hands bytes to the receiver and counts them.
func (l *stream) write(to *net.TCPConn, data []byte) {
	if len(data) == 0 {
		return
	}
	// All is noted before the write, because what it brings about may be quicker than its return.
	if l.dir == clientToServer {
		l.noteRequests(data)
	}
	l.count(int64(len(data)))
	n, err := to.Write(data)
	if err != nil {
		l.count(int64(n - len(data)))
		l.deaf = true
		if l.dir == clientToServer {
			l.link.streamDone(l) // the stream to the client goes on while the server's last words are in it
		}
		// Towards the client a broken stream is not done: what the client left behind must still reach the
		// server, and the server's answers be read, or it would not read on.
	}
}

// count adds to what was delivered.
func (l *stream) count(bytes int64) {
	l.link.proxy.count(func(s *Stats) {
		if l.dir == serverToClient {
			s.ToClient += bytes
		} else {
			s.ToServer += bytes
		}
	})
}

// noteRequests remembers whose answers are to come.
func (l *stream) noteRequests(data []byte) {
	for len(data) > 0 && !l.opaque {
		n, whole, err := l.asked.feed(data)
		data = data[n:]
		if err != nil {
			l.opaque = true
			l.link.requests.lose()
			l.link.proxy.count(func(s *Stats) { s.Opaque++ })
		}
		if whole {
			l.link.requests.add(l.asked.args, l.asked.elements)
		}
	}
}
