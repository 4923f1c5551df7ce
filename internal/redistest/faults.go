package redistest

import "time"

// Direction names one way through a Proxy, or both.
type Direction uint

// The two ways, and both.
const (
	ClientToServer Direction = 1 << iota
	ServerToClient
	Both = ClientToServer | ServerToClient
)

// Indexes of the two streams of a link.
const (
	clientToServer = iota
	serverToClient
)

// fault is the state of the network in one direction.
type fault struct {
	latency   time.Duration
	blackHole bool
}

// set changes the faults of the directions and has every link look at them.
func (p *Proxy) set(dir Direction, change func(*fault)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.faults {
		if dir&(1<<i) != 0 {
			change(&p.faults[i])
		}
	}
	p.wakeLocked()
}

// wakeLocked has every stream look at the faults and at its queue again.
func (p *Proxy) wakeLocked() {
	for l := range p.links {
		poke(l.toServer.wake)
		poke(l.toClient.wake)
	}
}

// Latency delays what comes in from now on by d, and the ends of streams with it.
// Bytes stay in order. 0 ends it for later bytes; those on their way keep their delay.
func (p *Proxy) Latency(dir Direction, d time.Duration) {
	p.set(dir, func(f *fault) { f.latency = d })
}

// BlackHole is a partition. While on, nothing arrives: neither bytes nor the end of a stream. When it
// heals everything comes through late, as TCP sends it again; only what a side had sent before it reset
// its connection is lost. A new connection is accepted (the proxy cannot hold that back) but the server
// hears of it when both directions are open.
func (p *Proxy) BlackHole(dir Direction, on bool) {
	p.set(dir, func(f *fault) { f.blackHole = on })
}

// SwallowReply loses answers by a rule, in place of any earlier rule.
func (p *Proxy) SwallowReply(rule Swallow) {
	left := rule.Times
	if left == 0 {
		left = 1
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.swallow = &swallowing{Swallow: rule, left: left}
}

// SwallowNothing ends the rule of SwallowReply.
func (p *Proxy) SwallowNothing() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.swallow = nil
}

// LoseMessages loses the published messages; the connection does not notice. RESP3 only: in RESP2 a message looks like an answer.
func (p *Proxy) LoseMessages() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.loseMessages = true
}
