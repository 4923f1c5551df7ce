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
	server string
	away   atomic.Int64 // a Duration
}

// piece is bytes on their way.
type piece struct {
	bytes []byte
	due   time.Time
}

// putAway starts a proxy before the server at an address. It ends with Close.
func putAway(server string, away time.Duration) (*distance, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	d := &distance{Listener: l, server: server}
	d.away.Store(int64(away))
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

// carry brings what one end sends to the other, until one of them closes.
func (d *distance) carry(from, to net.Conn) {
	onTheWay := make(chan piece, 1<<16)
	go func() {
		defer to.Close()
		defer from.Close()
		for p := range onTheWay {
			sleepUntil(p.due)
			if _, err := to.Write(p.bytes); err != nil {
				return
			}
		}
	}()
	defer close(onTheWay)
	buffer := make([]byte, 1<<16)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			onTheWay <- piece{append([]byte(nil), buffer[:n]...), time.Now().Add(time.Duration(d.away.Load()))}
		}
		if err != nil {
			return
		}
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
