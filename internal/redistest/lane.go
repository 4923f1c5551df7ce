package redistest

import (
	"errors"
	"io"
	"net"
	"time"
)

// laneBytes bounds what a lane keeps; then it stops reading and its sender's own buffers fill, as they
// would before a network that takes nothing.
const laneBytes = 1 << 20

// lane carries the bytes of one direction of a link, first in, first out.
type lane struct {
	link *link
	dir  int           // clientToServer or serverToClient
	wake chan struct{} // holds a token when the queue or the faults may have changed
	room chan struct{} // holds a token when the queue may have got shorter

	// Guarded by Proxy.mu.
	queue  []parcel
	queued int   // bytes in queue
	shut   bool  // an end is queued, or was delivered; nothing more is taken in
	left   bool  // the sender has ended its stream
	holed  bool  // Drop took bytes: a stream with a hole cannot go on
	done   bool  // has delivered its end, or cannot deliver any more
	budget int64 // bytes until CutAfter or CutWithin cuts; under 0: no limit

	// Owned by the delivering goroutine.
	notBefore time.Time // when the bandwidth allows the next bytes
	deaf      bool      // the receiver takes no more; what comes is thrown away
	answers   answers   // of the lane to the client
	asked     splitter  // of the lane to the server
	opaque    bool      // asked is not RESP
}

// parcel is a piece of the stream, or its end.
type parcel struct {
	data    []byte
	end     ending
	due     time.Time // not delivered before
	held    bool      // by HoldRequests: due can be brought forward by Release
	foreign bool      // the server did not send it
}

// ending is how a stream ends.
type ending int

const (
	goesOn  ending = iota
	orderly        // FIN: the sender has nothing more to say
	abrupt         // RST
)

func newLane(l *link, dir int, budget int64) *lane {
	return &lane{
		link:    l,
		dir:     dir,
		wake:    make(chan struct{}, 1),
		room:    make(chan struct{}, 1),
		budget:  budget,
		answers: answers{proxy: l.proxy, requests: &l.requests},
		asked:   splitter{inline: true},
	}
}

// read takes in the sender's bytes until its stream ends.
func (l *lane) read(from *net.TCPConn) {
	buffer := make([]byte, 16<<10)
	for l.awaitRoom() {
		n, err := from.Read(buffer)
		if n > 0 {
			l.put(parcel{data: append([]byte(nil), buffer[:n]...)})
		}
		if errors.Is(err, io.EOF) {
			l.put(parcel{end: orderly})
			return
		}
		if err != nil {
			l.put(parcel{end: abrupt})
			return
		}
	}
}

// awaitRoom waits until the lane may take more; false says that the link is over.
func (l *lane) awaitRoom() bool {
	for {
		l.link.proxy.mu.Lock()
		full := l.queued >= laneBytes
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

// put queues a parcel under the faults of this moment.
func (l *lane) put(item parcel) {
	p := l.link.proxy
	p.mu.Lock()
	defer p.mu.Unlock()
	f := &p.faults[l.dir]
	l.left = l.left || item.end != goesOn
	if l.shut {
		return
	}
	if f.drop || l.holed {
		l.holed = true
		p.stats.Dropped += int64(len(item.data))
		return
	}
	if item.end == abrupt && f.blackHole {
		l.forgetLocked()
	}
	l.shut = item.end != goesOn
	item.due, item.held = f.due(item.end)
	l.queue = append(l.queue, item)
	l.queued += len(item.data)
	poke(l.wake)
}

// forgetLocked loses what a sender that reset its connection had in flight before a black hole: its
// kernel no longer sends it again. What HoldRequests holds had already left the sender, so it stays.
func (l *lane) forgetLocked() {
	kept := l.queue[:0]
	l.queued = 0
	for _, item := range l.queue {
		if item.held {
			kept = append(kept, item)
			l.queued += len(item.data)
		}
	}
	l.queue = kept
}

// poke leaves a token unless there is one.
func poke(token chan struct{}) {
	select {
	case token <- struct{}{}:
	default:
	}
}

// deliver hands parcels to the receiver as they become due. It returns after the end of the stream, or
// when the link is over.
func (l *lane) deliver(to *net.TCPConn) {
	if _, last := l.spend(nil); last { // CutAfter may allow nothing at all
		l.link.cut()
	}
	for {
		item, ok := l.next()
		if !ok {
			return
		}
		switch {
		case item.foreign:
			l.write(to, item.data)
		case len(item.data) > 0:
			l.send(to, item.data)
		}
		if item.end != goesOn {
			l.finish(to, item.end)
			return
		}
	}
}

// finish passes the end of the stream on. Towards the server it is always an orderly one: Redis acts
// alike on both, but a reset might overtake held bytes that are to be delivered.
func (l *lane) finish(to *net.TCPConn, end ending) {
	if end == abrupt && l.dir == serverToClient {
		reset(to)
	} else {
		_ = to.CloseWrite() // fails when the receiver is gone; then there is nobody to tell
	}
	l.link.laneDone(l)
}

// next waits for the first parcel until it may go; false says that the link is over.
func (l *lane) next() (parcel, bool) {
	for {
		item, wait := l.take(time.Now())
		if wait == 0 {
			return item, true
		}
		if !l.sleep(wait) {
			return parcel{}, false
		}
	}
}

// awaitPath waits until no direction is a black hole; false says that the link is over.
func (l *lane) awaitPath() bool {
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
func (l *lane) sleep(wait time.Duration) bool {
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

// take removes the first parcel, or as much of it as the bandwidth allows, or says how long to wait.
func (l *lane) take(now time.Time) (item parcel, wait time.Duration) {
	p := l.link.proxy
	p.mu.Lock()
	defer p.mu.Unlock()
	f := &p.faults[l.dir]
	if len(l.queue) == 0 || f.blackHole {
		return parcel{}, untilWoken
	}
	due := l.queue[0].due
	if l.notBefore.After(due) {
		due = l.notBefore
	}
	if wait = due.Sub(now); wait > 0 {
		return parcel{}, wait
	}
	item = l.queue[0]
	if piece := f.piece(); piece < len(item.data) {
		item.data, l.queue[0].data = item.data[:piece], item.data[piece:]
	} else {
		l.queue = l.queue[1:]
	}
	l.queued -= len(item.data)
	l.notBefore = now.Add(f.takes(len(item.data)))
	poke(l.room)
	return item, 0
}
