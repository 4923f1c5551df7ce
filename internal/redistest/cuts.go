package redistest

import (
	"maps"
	"slices"
)

// Cut resets every connection, on both sides, and returns how many there were.
func (p *Proxy) Cut() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	links := slices.Collect(maps.Keys(p.links)) // resetLocked takes them out of the map
	for _, l := range links {
		l.resetLocked()
	}
	return len(links)
}

// RefuseNew resets new connections as soon as they are accepted: the nearest a proxy comes to a closed
// port without giving its own up. The client learns of it while it connects or when it first reads.
// Existing connections go on.
func (p *Proxy) RefuseNew(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse = on
}
