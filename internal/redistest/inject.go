package redistest

// Place is where in the stream to a client Inject puts bytes that the server did not send.
type Place int

const (
	// Idle is a connection on which nothing is under way.
	Idle Place = iota
	// BehindAnswer is right behind an answer after which nothing is under way, in one write with it.
	BehindAnswer
	// WithinAnswer is in the midst of an answer.
	WithinAnswer
)

// injection is bytes that wait for their place.
type injection struct {
	place Place
	bytes []byte
	left  int // times
}

// InjectIdle sends the client bytes that the server did not send, on every connection on which nothing is under way, and
// returns on how many that was. A request of which the proxy has not read anything may be under way nevertheless; a
// client that is stopped makes none.
func (p *Proxy) InjectIdle(bytes []byte) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		if l.server != nil && l.toServer.queued == 0 && l.toClient.queued == 0 && l.requests.isIdle() && !l.toClient.shut {
			l.toClient.queue = append(l.toClient.queue, chunk{data: bytes, foreign: true})
			l.toClient.queued += len(bytes)
			poke(l.toClient.wake)
			p.stats.Injected++
			n++
		}
	}
	return n
}

// Inject sends the client bytes that the server did not send, so many times, each as soon as its place comes by on any
// connection. It takes the place of an earlier Inject; 0 times ends it.
func (p *Proxy) Inject(place Place, bytes []byte, times int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.injected = injection{place, bytes, times}
}

// inject puts what waits for a place into a whole answer that begins at start in out and has just been added to it. The
// answer is the last one asked for if idle.
func (p *Proxy) inject(out []byte, start int, idle bool) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := len(out)
	if p.injected.place == WithinAnswer {
		at = start + (len(out)-start)/2
	}
	if p.injected.left == 0 || p.injected.place == BehindAnswer && !idle || p.injected.place == WithinAnswer && at == start {
		return out
	}
	p.injected.left--
	p.stats.Injected++
	return append(out[:at:at], append(append([]byte(nil), p.injected.bytes...), out[at:]...)...)
}
