package chaos

import "github.com/wheellock/wheellock/internal/judge"

// tokens checks that Redis has made every fencing token, and that they grow, whatever happened to Redis in between. Who was handed a lock on in a tenure that had just
// been destroyed may have a lower one than the next, but still one of his own.
func (h *history) tokens() {
	for p, holds := range h.granted() {
		if p.Kind != fenced && p.Kind != stays {
			continue
		}
		for c, other := range judge.Tokens(holds) {
			if c.token == other.token || c.cut == 0 {
				h.fail("tokens", "%s has token %d after %s had %d", c.name(), c.token, other.name(), other.token)
			}
		}
		for _, c := range holds {
			if last := h.counters[p.Name]; c.token == 0 || last != 0 && c.token > last {
				h.fail("tokens", "%s has token %d, and Redis has made those up to %d", c.name(), c.token, last)
			}
		}
		h.figures.Tokens += len(holds)
	}
	taken, kept, lost := h.phase.resource.sums()
	h.figures.Writes, h.figures.Fenced = taken, kept
	for _, text := range lost {
		h.fail("fenced resource", "a write was lost: %s", text)
	}
}
