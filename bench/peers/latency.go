package main

import (
	"net"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// distance is a proxy that makes a server be so far away: what one end sends reaches the other that much later. The proxy of
// package redistest, which is for tests, waits by Go's timers, and so makes 2.3 ms of a round trip of 1.
type distance struct {
	net.Listener
	server   string
	away     atomic.Int64 // a Duration
	onTheWay chan piece   // of all connections, in the order in which they are due: one goroutine waits, so one thread
}

// piece is bytes on their way; none: the end of the connection.
type piece struct {
	to    net.Conn
	bytes []byte
	due   time.Time
}

// putAway starts a proxy before the server at an address. It ends with Close.
func putAway(server string, away time.Duration) (*distance, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	d := &distance{Listener: l, server: server, onTheWay: make(chan piece, 1<<16)}
	d.away.Store(int64(away))
	go d.deliver()
	go func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", server)
			if err != nil {
				near.Close()
				continue
			}
			go d.carry(near, far)
			go d.carry(far, near)
		}
	}()
	return d, nil
}

// carry sends what comes from one end on its way to the other, until one of them closes.
func (d *distance) carry(from, to net.Conn) {
	for {
		bytes := make([]byte, 1<<13)
		n, err := from.Read(bytes)
		d.onTheWay <- piece{to, bytes[:n], time.Now().Add(time.Duration(d.away.Load()))}
		if err != nil {
			return
		}
	}
}

// deliver brings the pieces to their ends, each when it is due.
func (d *distance) deliver() {
	for p := range d.onTheWay {
		sleepUntil(p.due)
		if len(p.bytes) == 0 {
			p.to.Close()
			continue
		}
		_, _ = p.to.Write(p.bytes) // of one that has closed nobody reads
	}
}

// sleepUntil is exact to some 0.1 ms. An idle Go process sleeps for whole milliseconds.
func sleepUntil(due time.Time) {
	for left := time.Until(due); left > 0; left = time.Until(due) {
		if left > 2*time.Millisecond {
			time.Sleep(left - 2*time.Millisecond)
			continue
		}
		wait := unix.NsecToTimeval(left.Nanoseconds())
		unix.Select(0, nil, nil, nil, &wait)
	}
}
