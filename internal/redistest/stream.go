package redistest

import (
	"errors"
	"io"
	"net"
	"time"
)

// streamBytes bounds what a stream keeps; then it stops reading and its sender's own buffers fill, as they
// would before a network that takes nothing.
const streamBytes = 1 << 20

// stream carries the bytes of one direction of a link, first in, first out.
type stream struct {
	link *link
	dir  int           // clientToServer or serverToClient
	wake chan struct{} // holds a token when the queue or the faults may have changed
	room chan struct{} // holds a token when the queue may have got shorter

	// Guarded by Proxy.mu.
	queue  []chunk
	queued int  // bytes in queue
	shut   bool // an end is queued, or was delivered; nothing more is taken in
	done   bool // has delivered its end, or cannot deliver any more

	// Owned by the delivering goroutine.
	deaf   bool   // the receiver takes no more; what comes is thrown away
	before []byte // the end of what went to the server, while answers are to be lost
}

// chunk is a piece of the stream, or its end.
type chunk struct {
	data []byte
	end  ending
	due  time.Time // not delivered before
}

// ending is how a stream ends.
type ending int

const (
	goesOn  ending = iota
	orderly        // FIN: the sender has nothing more to say
	abrupt         // RST
)

func newStream(l *link, dir int) *stream {
	return &stream{
		link: l,
		dir:  dir,
		wake: make(chan struct{}, 1),
		room: make(chan struct{}, 1),
	}
}

// read takes in the sender's bytes until its stream ends.
func (l *stream) read(from *net.TCPConn) {
	buffer := make([]byte, 16<<10)
	for l.awaitRoom() {
		n, err := from.Read(buffer)
		if n > 0 {
			l.put(chunk{data: append([]byte(nil), buffer[:n]...)})
		}
		if errors.Is(err, io.EOF) {
			l.put(chunk{end: orderly})
			return
		}
		if err != nil {
			l.put(chunk{end: abrupt})
			return
		}
	}
}

// awaitRoom waits until the stream may take more; false says that the link is over.
func (l *stream) awaitRoom() bool {
	for {
		l.link.proxy.mu.Lock()
		full := l.queued >= streamBytes
		l.link.proxy.mu.Unlock()
		if !full {
			return true
		}
		select {
		case <-l.room:
		case <-l.link.down:
			return false
		}
	}
}

// put queues a chunk under the faults of this moment.
func (l *stream) put(item chunk) {
	p := l.link.proxy
	p.mu.Lock()
	defer p.mu.Unlock()
	f := &p.faults[l.dir]
	if l.shut {
		return
	}
	if item.end == abrupt && f.blackHole { // the kernel of a sender that reset its connection does not send again what was in flight
		l.queue, l.queued = nil, 0
	}
	l.shut = item.end != goesOn
	item.due = time.Now().Add(f.latency)
	l.queue = append(l.queue, item)
	l.queued += len(item.data)
	poke(l.wake)
}

// poke leaves a token unless there is one.
func poke(token chan struct{}) {
	select {
	case token <- struct{}{}:
	default:
	}
}

// deliver hands chunks to the receiver as they become due. It returns after the end of the stream, or
// when the link is over.
func (l *stream) deliver(to *net.TCPConn) {
	for {
		item, ok := l.next()
		if !ok {
			return
		}
		if len(item.data) > 0 {
			l.send(to, item.data)
		}
		if item.end != goesOn {
			l.finish(to, item.end)
			return
		}
	}
}

// finish passes the end of the stream on. Towards the server it is always an orderly one: Redis acts
// alike on both, but a reset might overtake bytes that are to be delivered.
func (l *stream) finish(to *net.TCPConn, end ending) {
	if end == abrupt && l.dir == serverToClient {
		reset(to)
	} else {
		_ = to.CloseWrite() // fails when the receiver is gone; then there is nobody to tell
	}
	l.link.streamDone(l)
}

// next waits for the first chunk until it may go; false says that the link is over.
func (l *stream) next() (chunk, bool) {
	for {
		item, wait := l.take(time.Now())
		if wait == 0 {
			return item, true
		}
		if !l.sleep(wait) {
			return chunk{}, false
		}
	}
}

// awaitPath waits until no direction is a black hole; false says that the link is over.
func (l *stream) awaitPath() bool {
	p := l.link.proxy
	for {
		p.mu.Lock()
		open := !p.faults[clientToServer].blackHole && !p.faults[serverToClient].blackHole
		p.mu.Unlock()
		if open {
			return true
		}
		if !l.sleep(untilWoken) {
			return false
		}
	}
}

// untilWoken is a wait that only wake ends.
const untilWoken = time.Duration(-1)

// sleep waits for wake, or as long as said; false says that the link is over.
func (l *stream) sleep(wait time.Duration) bool {
	var alarm <-chan time.Time
	if wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		alarm = timer.C
	}
	select {
	case <-l.wake:
	case <-alarm:
	case <-l.link.down:
		return false
	}
	return true
}

// take removes the first chunk, or says how long to wait.
func (l *stream) take(now time.Time) (item chunk, wait time.Duration) {
	p := l.link.proxy
	p.mu.Lock()
	defer p.mu.Unlock()
	f := &p.faults[l.dir]
	if len(l.queue) == 0 || f.blackHole {
		return chunk{}, untilWoken
	}
	item = l.queue[0]
	if wait = item.due.Sub(now); wait > 0 {
		return chunk{}, wait
	}
	l.queue = l.queue[1:]
	l.queued -= len(item.data)
	poke(l.room)
	return item, 0
}
