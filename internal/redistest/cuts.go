package redistest

import (
	"maps"
	"slices"
	"time"
)

// Cut resets every connection, on both sides, and returns how many there were.
func (p *Proxy) Cut() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cutLocked()
}

func (p *Proxy) cutLocked() int {
	links := slices.Collect(maps.Keys(p.links)) // resetLocked takes them out of the map
	for _, l := range links {
		p.stats.Cut++
		l.resetLocked()
	}
	return len(links)
}

// CutHoled resets the connections that lost something to Drop, as the servers' and clients' keep-alive would some
// time, and returns how many there were.
func (p *Proxy) CutHoled() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, l := range slices.Collect(maps.Keys(p.links)) { // resetLocked takes them out of the map
		if l.toServer.holed || l.toClient.holed {
			p.stats.Cut++
			l.resetLocked()
			n++
		}
	}
	return n
}

// CutAfter lets each connection accepted from now on carry exactly n bytes in the direction, counted from
// its first, and then resets both sides. On Linux the receiver can still read what it got. Under 0 ends it.
func (p *Proxy) CutAfter(dir Direction, n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.cutAfter {
		if dir&(1<<i) != 0 {
			p.cutAfter[i] = n
		}
	}
}

// CutEvery resets all connections again and again, d apart, the first time after d; 0 ends it, and once it
// has returned nothing more is cut.
func (p *Proxy) CutEvery(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cutter != nil {
		close(p.cutter)
		p.cutter = nil
	}
	if d <= 0 || p.closed {
		return
	}
	stop := make(chan struct{})
	p.cutter = stop
	p.running.Go(func() { p.keepCutting(d, stop) })
}

func (p *Proxy) keepCutting(d time.Duration, stop chan struct{}) {
	tick := time.NewTicker(d)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			p.mu.Lock()
			if p.cutter == stop { // the tick may have come before the stop
				p.cutLocked()
			}
			p.mu.Unlock()
		case <-stop:
			return
		case <-p.closing:
			return
		}
	}
}

// HalfClose ends one direction of every connection in an orderly way: its receiver sees the end of the
// stream after what was sent before, while the other direction goes on. What is sent after it is lost.
// Redis hangs up when its side is half-closed.
func (p *Proxy) HalfClose(dir Direction) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		for i, lane := range []*lane{l.toServer, l.toClient} {
			if dir&(1<<i) != 0 && !lane.shut {
				lane.shut = true
				lane.queue = append(lane.queue, parcel{end: orderly})
				poke(lane.wake)
			}
		}
	}
}

// RefuseNew resets new connections as soon as they are accepted: the nearest a proxy comes to a closed
// port without giving its own up. The client learns of it while it connects or when it first reads.
// Existing connections go on.
func (p *Proxy) RefuseNew(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse = on
}
