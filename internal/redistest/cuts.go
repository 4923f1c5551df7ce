package redistest

import (
	"maps"
	"math/rand/v2"
	"slices"
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
		l.resetLocked()
	}
	return len(links)
}

// CutWithin lets each connection that is open now carry up to most bytes more in the direction, drawn for each by
// chance, and then resets both sides. On Linux the receiver can still read what it got. A connection that is to be cut already keeps its last byte.
// 0 spares those that have not come to theirs.
func (p *Proxy) CutWithin(dir Direction, most int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		if most > 0 && (l.toServer.budget >= 0 || l.toClient.budget >= 0) {
			continue
		}
		for i, one := range []*stream{l.toServer, l.toClient} {
			if dir&(1<<i) != 0 {
				one.budget = lastByte(most)
			}
		}
	}
}

func lastByte(most int64) int64 {
	if most == 0 {
		return -1
	}
	return 1 + rand.Int64N(most)
}

// RefuseNew resets new connections as soon as they are accepted: the nearest a proxy comes to a closed
// port without giving its own up. The client learns of it while it connects or when it first reads.
// Existing connections go on.
func (p *Proxy) RefuseNew(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse = on
}
