package redisnet

import (
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// half is one direction of a connection. Writing never blocks. Any goroutine may write; one reads at a time.
type half struct {
	wake chan struct{} // capacity 1: it says "look"

	mu       sync.Mutex // guards the rest; never held while blocking
	queue    []piece
	last     time.Time // when the last piece arrives: none overtakes another
	deadline time.Time // of the reader
	end      error     // what is read behind the queue
	endAt    time.Time
	closed   bool // by the reader
	lost     bool // something has vanished on the way, so nothing can come behind it
}

// piece is what was written at once.
type piece struct {
	at   time.Time
	data []byte
}

func newHalf() *half { return &half{wake: make(chan struct{}, 1)} }

func (h *half) look() {
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// put sends b, to arrive at that time.
func (h *half) put(b []byte, at time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.lost || h.end != nil || h.closed || len(b) == 0 {
		return
	}
	if at.Before(h.last) {
		at = h.last
	}
	h.last = at
	h.queue = append(h.queue, piece{at, append([]byte(nil), b...)})
	h.look()
}

// lose has everything vanish from now on.
func (h *half) lose() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lost = true
}

// isLost reports whether something has vanished.
func (h *half) isLost() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.lost
}

// loseFor has everything vanish, and ends the direction when the reader finds out by himself.
func (h *half) loseFor(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lost = true
	if h.end == nil {
		h.end, h.endAt = os.ErrDeadlineExceeded, time.Now().Add(d)
	}
	h.look()
}

// finish ends the direction at that time: by an end of file when err is nil.
func (h *half) finish(err error, at time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.end != nil || h.lost {
		return
	}
	if err == nil {
		err = io.EOF
	}
	h.end, h.endAt = err, at
	if h.endAt.Before(h.last) {
		h.endAt = h.last
	}
	h.look()
}

// reset ends it now, and throws away what is on its way.
func (h *half) reset(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.queue, h.end, h.endAt, h.lost = nil, err, time.Time{}, false
	h.look()
}

// shut is the reader's end of it.
func (h *half) shut() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.queue, h.closed = nil, true
	h.look()
}

func (h *half) setDeadline(t time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.deadline = t
	h.look()
}

// read waits for something to read.
func (h *half) read(b []byte) (int, error) {
	for {
		n, next, err := h.try(b)
		if n > 0 || err != nil {
			return n, err
		}
		if next.IsZero() {
			<-h.wake
			continue
		}
		timer := time.NewTimer(time.Until(next))
		select {
		case <-h.wake:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// try reads what is there; else next is when there may be something, zero when that is not known.
func (h *half) try(b []byte) (n int, next time.Time, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	switch {
	case h.closed:
		return 0, next, net.ErrClosed
	case !h.deadline.IsZero() && !now.Before(h.deadline):
		return 0, next, os.ErrDeadlineExceeded
	}
	for len(h.queue) > 0 && n < len(b) && !h.queue[0].at.After(now) {
		k := copy(b[n:], h.queue[0].data)
		n += k
		if h.queue[0].data = h.queue[0].data[k:]; len(h.queue[0].data) == 0 {
			h.queue = h.queue[1:]
		}
	}
	if n > 0 {
		return n, next, nil
	}
	next = h.deadline
	switch {
	case len(h.queue) > 0:
		next = sooner(next, h.queue[0].at)
	case h.end != nil && !h.endAt.After(now):
		return 0, next, h.end
	case h.end != nil:
		next = sooner(next, h.endAt)
	}
	return 0, next, nil
}

// sooner is the earlier of two times, of which the first may be zero: none.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}
