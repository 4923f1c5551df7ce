package redistest

import (
	"math"
	"math/rand/v2"
	"time"
)

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

// UntilReleased has HoldRequests hold until Release.
const UntilReleased = time.Duration(math.MaxInt64)

// fault is the state of the network in one direction.
type fault struct {
	latency, jitter time.Duration
	hold            time.Duration // of requests; 0: none
	slowClose       time.Duration // on top, for the end of the stream
	bandwidth       int           // bytes a second; 0: no limit
	blackHole       bool
	drop            bool
}

// due is when something that comes in now may be delivered, and whether it is held.
func (f *fault) due(end ending) (due time.Time, held bool) {
	delay := f.latency
	if f.jitter > 0 {
		delay += rand.N(2*f.jitter) - f.jitter
	}
	if end != goesOn {
		delay += f.slowClose
	}
	// Held for ever is a hundred years: far enough, and no overflow in sums with it.
	delay = min(max(delay, 0)+min(f.hold, 100*365*24*time.Hour), 200*365*24*time.Hour)
	return time.Now().Add(delay), f.hold > 0
}

// piece is how many bytes go in one write: under a bandwidth limit a fiftieth of a second's worth.
func (f *fault) piece() int {
	if f.bandwidth == 0 {
		return math.MaxInt
	}
	return max(1, f.bandwidth/50)
}

// takes is how long so many bytes keep the line busy.
func (f *fault) takes(bytes int) time.Duration {
	if f.bandwidth == 0 {
		return 0
	}
	return time.Duration(float64(bytes) / float64(f.bandwidth) * float64(time.Second))
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

// Latency delays what comes in from now on by d, more or less jitter, and the ends of streams with it.
// Bytes stay in order. 0 ends it for later bytes; those on their way keep their delay.
func (p *Proxy) Latency(dir Direction, d, jitter time.Duration) {
	p.set(dir, func(f *fault) { f.latency, f.jitter = d, jitter })
}

// Bandwidth limits each connection to so many bytes a second in each direction; 0 ends it.
func (p *Proxy) Bandwidth(dir Direction, bytesPerSecond int) {
	p.set(dir, func(f *fault) { f.bandwidth = bytesPerSecond })
}

// SlowClose delays the end of a stream, orderly or by reset, by d behind its last bytes; 0 ends it.
func (p *Proxy) SlowClose(dir Direction, d time.Duration) {
	p.set(dir, func(f *fault) { f.slowClose = d })
}

// BlackHole is a partition. While on, nothing arrives: neither bytes nor the end of a stream. When it
// heals everything comes through late, as TCP sends it again; only what a side had sent before it reset
// its connection is lost. A new connection is accepted (the proxy cannot hold that back) but the server
// hears of it when both directions are open.
func (p *Proxy) BlackHole(dir Direction, on bool) {
	p.set(dir, func(f *fault) { f.blackHole = on })
}

// Drop loses what comes in while it is on, for good: bytes and ends of streams. A connection that lost
// something stays open and silent in that direction also after Drop is off, like one whose entry a
// firewall forgot; others are not touched.
func (p *Proxy) Drop(dir Direction, on bool) {
	p.set(dir, func(f *fault) { f.drop = on })
}

// HoldRequests keeps what clients send from now on for d, and delivers it even when the client has closed
// or reset its connection meanwhile: late delivery, as from a full queue in the network. 0 ends it for
// later bytes, on other connections at once: a clean-up on a new connection overtakes what is held.
// Stats tells what is WaitingToServer, and afterwards what was late.
func (p *Proxy) HoldRequests(d time.Duration) {
	p.set(ClientToServer, func(f *fault) { f.hold = d })
}

// Release delivers now what HoldRequests holds.
func (p *Proxy) Release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		for i := range l.toServer.queue {
			if item := &l.toServer.queue[i]; item.held {
				item.due = time.Time{}
			}
		}
	}
	p.wakeLocked()
}

// SwallowReply loses answers by a rule, in place of any earlier rule. It needs RESP without TLS.
// Requests already sent count as well. On a RESP2 connection that subscribes, or after CLIENT REPLY, or
// MONITOR, answers cannot be told by their order: there nothing is swallowed any more.
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

// LoseMessages loses a share of the published messages, 0 to 1, each by chance; the connection does not
// notice. RESP3 only: in RESP2 a message looks like an answer.
func (p *Proxy) LoseMessages(share float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lostShare = share
}
