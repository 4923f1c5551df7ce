package redistest

import (
	"math/rand/v2"
	"strings"
)

// Swallow says which answers get lost on the way back. The request has run by then: the client cannot
// know it. In place of the answer it gets a reset connection; what it had sent after that request still
// reaches the server.
type Swallow struct {
	// Match chooses requests by their first arguments: the command as the client wrote it, then up to
	// three more, each cut to 64 bytes; for EVALSHA the digest, the number of keys and the first key.
	// It is asked once for each answer, from many goroutines. Nil matches every request.
	Match func(args []string) bool
	// Nth counts matching answers over all connections, from 1, since the rule was set or last applied.
	// 0 means 1: the next one.
	Nth int
	// Times is how many answers are lost in all. 0 means 1; under 0 there is no end.
	Times int
}

// Command matches requests for one command, in any case, whose next arguments are args.
func Command(name string, args ...string) func([]string) bool {
	return func(request []string) bool {
		if len(request) < 1+len(args) || !strings.EqualFold(request[0], name) {
			return false
		}
		for i, arg := range args {
			if request[i+1] != arg {
				return false
			}
		}
		return true
	}
}

// swallowing is a rule at work; its counts are guarded by Proxy.mu.
type swallowing struct {
	Swallow
	seen int // matching answers since the rule was set or last applied
	left int // answers still to be lost; under 0: no end
}

// swallows asks whether the answer to this request is to be lost, and counts it if so.
func (p *Proxy) swallows(args []string) bool {
	p.mu.Lock()
	rule := p.swallow
	p.mu.Unlock()
	// Match is the test's code and may ask the proxy something: not under the lock.
	if rule == nil || rule.Match != nil && !rule.Match(args) {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if rule.seen++; rule.left == 0 || rule.seen < max(rule.Nth, 1) {
		return false
	}
	rule.seen = 0
	rule.left--
	p.stats.Swallowed++
	return true
}

// answers reads the server's side of one link and takes out what is to be lost. One goroutine owns it.
type answers struct {
	proxy    *Proxy
	requests *requests
	frames   splitter
	opaque   bool // no RESP, or a stream without requests: everything passes

	// Of the present frame.
	push    bool
	fate    fate
	waiting []byte // its bytes so far while fate is undecided
}

// fate is what becomes of a frame.
type fate int

const (
	delivered fate = iota
	undecided      // a push whose kind is not known yet
	discarded
)

// undecidedBytes bounds what is kept of a push until its kind is known, its first element.
const undecidedBytes = 256

// pass returns what of p may go on to the client. When cut is true the rest is an answer to be swallowed.
func (a *answers) pass(p []byte) (out []byte, cut bool) {
	if a.opaque || a.requests.isLost() {
		return p, false
	}
	for len(p) > 0 {
		if !a.frames.open {
			if a.begin(p[0]) {
				return out, true
			}
		}
		n, complete, err := a.frames.feed(p)
		out = a.route(out, p[:n], complete)
		p = p[n:]
		if err != nil {
			a.opaque = true
			a.requests.lose()
			a.proxy.count(func(s *Stats) { s.Opaque++ })
			return append(append(out, a.waiting...), p...), false
		}
		if complete {
			a.end()
		}
	}
	return out, false
}

// begin decides on a frame by its first byte, and reports whether it is an answer to be swallowed.
func (a *answers) begin(kind byte) bool {
	a.push, a.fate = kind == '>', delivered
	if a.push {
		if a.proxy.losesMessages() {
			a.fate = undecided
		}
		return false
	}
	args, found := a.requests.next(kind)
	return found && a.proxy.swallows(args)
}

// route appends to out what may pass of a part of the present frame.
func (a *answers) route(out, part []byte, complete bool) []byte {
	switch a.fate {
	case discarded:
		return out
	case delivered:
		return append(out, part...)
	}
	a.waiting = append(a.waiting, part...)
	if !complete && len(a.frames.args) == 0 && len(a.waiting) < undecidedBytes {
		return out
	}
	a.fate = delivered
	if isMessage(a.frames.args) && a.proxy.loseMessage() {
		a.fate = discarded
	} else {
		out = append(out, a.waiting...)
	}
	a.waiting = a.waiting[:0]
	return out
}

func (a *answers) end() {
	switch {
	case !a.push:
		a.requests.answered()
	case len(a.frames.args) > 0:
		a.requests.confirmed(a.frames.args[0])
	}
}

// isMessage tells a published message from a confirmation, by its first element.
func isMessage(push []string) bool {
	if len(push) == 0 {
		return false
	}
	return push[0] == "message" || push[0] == "pmessage" || push[0] == "smessage"
}

func (p *Proxy) losesMessages() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lostShare > 0
}

// loseMessage draws whether a message is lost, and counts it if so.
func (p *Proxy) loseMessage() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if rand.Float64() >= p.lostShare {
		return false
	}
	p.stats.LostMessages++
	return true
}
