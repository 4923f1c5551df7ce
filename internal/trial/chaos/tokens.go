package chaos

import "github.com/wheellock/wheellock/internal/judge"

// tokens checks that fencing tokens grow, whatever happened to Redis in between. Who was handed a lock on in a tenure that had just
// been destroyed may have a lower one than the next, but still one of his own.
func (h *history) tokens() {
	for p, holds := range h.granted() {
		if p.Kind != fenced {
			continue
		}
		for c, other := range judge.Tokens(holds) {
			if c.token == other.token || c.cut == 0 {
				h.fail("tokens", "%s has token %d after %s had %d", c.name(), c.token, other.name(), other.token)
			}
		}
		h.figures.tokens += len(holds)
	}
}
