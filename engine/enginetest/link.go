package enginetest

import (
	"bytes"
	"net"
	"sync"
	"time"
)

// SetLatency makes d the time of a round trip: every command that is sent from now on arrives d later, and so does its
// answer; 0, as at the beginning, ends that. Unlock messages are not delayed. With more than [engine.Options].AnswerTimeout
// the answers come too late for the engine.
//
// A call takes one round trip, such as a Lock of a free name. A call that opens a connection takes two: the first one of an
// engine, and one that finds no idle connection. So does a call after a second without any, which tries the connection
// first.
func (s *Server) SetLatency(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.latency = max(d, 0)
}

// link is a connection that SetDown can cut, and SetLatency can slow down.
type link struct {
	net.Conn
	s      *Server
	closed chan struct{}

	mu       sync.Mutex // guards the rest; held for an append
	over     bool       // closed is closed
	transit  []packet   // what was written and has not arrived
	carrying bool       // a goroutine carries it, until there is none left
}

// packet is what one Write wrote.
type packet struct {
	due  time.Time
	data []byte
}

// Write puts p on its way. One goroutine at a time may call it.
func (l *link) Write(p []byte) (int, error) {
	l.s.mu.Lock()
	latency := l.s.latency
	l.s.mu.Unlock()
	l.mu.Lock()
	switch {
	case l.over:
		l.mu.Unlock()
		return 0, net.ErrClosed
	case latency == 0 && !l.carrying:
		l.mu.Unlock()
		return l.Conn.Write(p)
	}
	defer l.mu.Unlock()
	l.transit = append(l.transit, packet{time.Now().Add(latency), bytes.Clone(p)})
	if !l.carrying {
		l.carrying = true
		go l.deliver()
	}
	return len(p), nil
}

// deliver makes packets arrive, in their order, until none is on its way.
func (l *link) deliver() {
	for {
		l.mu.Lock()
		if len(l.transit) == 0 || l.over {
			l.carrying = false
			l.mu.Unlock()
			return
		}
		next := l.transit[0]
		l.transit = l.transit[1:]
		l.mu.Unlock()
		select {
		case <-time.After(time.Until(next.due)):
			l.Conn.SetWriteDeadline(time.Time{}) // of a Write that is over for its caller
			l.Conn.Write(next.data)              // the reader notices if the other end has gone
		case <-l.closed:
		}
	}
}

// Close may be called by both sides, and twice. What is on its way is lost.
func (l *link) Close() error {
	l.s.mu.Lock()
	delete(l.s.links, l)
	l.s.mu.Unlock()
	l.mu.Lock()
	if !l.over {
		l.over = true
		close(l.closed)
	}
	l.mu.Unlock()
	return l.Conn.Close()
}
