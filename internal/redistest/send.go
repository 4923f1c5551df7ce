package redistest

import "net"

// send writes bytes to the receiver, short of an answer that is to be swallowed.
func (l *stream) send(to *net.TCPConn, data []byte) {
	if l.deaf {
		return
	}
	if l.dir == serverToClient {
		if l.link.swallows() {
			// Only the client learns of it: what it sent before goes on to the server.
			reset(to)
			l.deaf = true
			return
		}
		data = l.link.proxy.withoutMessages(data)
	}
	l.write(to, data)
}

// write hands bytes to the receiver.
func (l *stream) write(to *net.TCPConn, data []byte) {
	if len(data) == 0 {
		return
	}
	if l.dir == clientToServer { // before the write, whose answer may be quicker than its return
		l.asks(data)
	}
	if _, err := to.Write(data); err != nil {
		l.deaf = true
		if l.dir == clientToServer {
			l.link.streamDone(l) // the stream to the client goes on while the server's last words are in it
		}
		// Towards the client a broken stream is not done: what the client left behind must still reach the
		// server, and the server's answers be read, or it would not read on.
	}
}
