package redistest

import (
	"bytes"
	"regexp"
)

// Swallow says which answers get lost on the way back. The request runs: the client cannot know it. In place of what the server says next
// the client gets a reset connection; what it had sent after that request still reaches the server.
type Swallow struct {
	// Match is in the requests that are meant: a command, or the digest of a script. They must not be encrypted.
	Match string
	// Nth counts these requests over all connections, from 1, since the rule was set or last applied. 0 means 1: the next one.
	Nth int
	// Times is how many answers are lost in all. 0 means 1; under 0 there is no end.
	Times int
}

// swallowing is a rule at work, guarded by Proxy.mu.
type swallowing struct {
	Swallow
	seen int // requests since the rule was set or last applied
	left int // answers still to be lost; under 0: no end
}

// asks looks for requests whose answers are to be lost in what goes to the server. A text may begin in what went before.
func (l *stream) asks(data []byte) {
	p := l.link.proxy
	p.mu.Lock()
	defer p.mu.Unlock()
	rule := p.swallow
	if rule == nil {
		l.before = nil
		return
	}
	all := append(l.before, data...)
	for range bytes.Count(all, []byte(rule.Match)) {
		if rule.seen++; rule.left != 0 && rule.seen >= max(rule.Nth, 1) {
			rule.seen = 0
			rule.left--
			l.link.mute = true
		}
	}
	l.before = bytes.Clone(all[max(0, len(all)-len(rule.Match)+1):])
}

// swallows reports whether what the server says now is to be lost.
func (l *link) swallows() bool {
	l.proxy.mu.Lock()
	defer l.proxy.mu.Unlock()
	if l.mute = l.mute && l.proxy.swallow != nil; l.mute {
		l.proxy.stats.Swallowed++
	}
	return l.mute
}

// published are messages to a client that speaks RESP3. Redis sends each in one piece.
var published = regexp.MustCompile(`>3\r\n\$[78]\r\ns?message\r\n\$\d+\r\n[^\r]*\r\n\$\d+\r\n[^\r]*\r\n`)

// withoutMessages is what goes to a client, but for messages that are to be lost.
func (p *Proxy) withoutMessages(data []byte) []byte {
	p.mu.Lock()
	lose := p.loseMessages
	p.mu.Unlock()
	if lose {
		data = published.ReplaceAll(data, nil)
	}
	return data
}
