package chaos

import (
	"time"

	"github.com/wheellock/wheellock/internal/redistest"
)

// unasked are bytes of a server that nobody asked it for. The first three are good answers to something: in the place of
// an answer nobody could tell them from it, so they come where nothing is under way, or as one answer too many.
var unasked = []string{"+OK\r\n", ":1\r\n", "-ERR x\r\n",
	"$-5\r\n", "$1000000000000\r\n", "*1000000000\r\n", "*-7\r\n", ">1000000000\r\n", "%1000000000\r\n", "\x00\x01\xff\r\n\r\n", "HTTP/1.1 400 Bad Request\r\n\r\n"}

const goodAnswers = 3

// sayUnasked has the server say something that nobody asked for. Who hears it can only end the connection.
func sayUnasked(s *strike) bool {
	proxy := s.victim.proxy
	before := proxy.Stats().Injected
	bytes := []byte(unasked[s.IntN(len(unasked))])
	switch redistest.Place(s.IntN(3)) {
	case redistest.Idle:
		s.victim.freeze(5*time.Millisecond, func() { proxy.InjectIdle(bytes) }) // so that no request is on its way
	case redistest.BehindAnswer:
		proxy.Inject(redistest.BehindAnswer, bytes, 1+s.IntN(5))
	case redistest.WithinAnswer:
		proxy.Inject(redistest.WithinAnswer, []byte(unasked[goodAnswers+s.IntN(len(unasked)-goodAnswers)]), 1+s.IntN(5))
	}
	s.last(100 * time.Millisecond)
	proxy.Inject(redistest.Idle, nil, 0)
	return proxy.Stats().Injected > before
}

// usualMemory is what a client may have resident at most, whatever strikes it.
const usualMemory = 256 << 20

// memory checks that no client took too much of it.
func (h *history) memory() {
	for _, p := range append(h.phase.gone[:len(h.phase.gone):len(h.phase.gone)], h.phase.clients...) {
		var most int64
		for _, u := range p.used() {
			most = max(most, u.peak)
		}
		h.figures.Memory = max(h.figures.Memory, most)
		if most > usualMemory {
			h.fail("memory", "client %d had %d MB", p.Number, most>>20)
		}
	}
}
