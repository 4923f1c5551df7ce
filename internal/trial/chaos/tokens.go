package chaos

import (
	"cmp"
	"slices"
)

// tokens checks that Redis has made every fencing token, and that they grow: who was granted a lock before another called for it has a lower one,
// whatever happened to Redis in between; and no token is there twice. Who was handed a lock on in a tenure that had just
// been destroyed may have a lower one than the next, but still one of his own.
func (h *history) tokens() {
	for p, holds := range h.granted() {
		if p.Kind != fenced && p.Kind != stays {
			continue
		}
		byGrant, byCall := slices.Clone(holds), holds
		slices.SortFunc(byGrant, func(a, b *hold) int { return cmp.Compare(a.grantedAt, b.grantedAt) })
		slices.SortFunc(byCall, func(a, b *hold) int { return cmp.Compare(a.calledAt, b.calledAt) })
		seen := make(map[int64]*hold, len(holds))
		var highest *hold
		for next, i := 0, 0; i < len(byCall); i++ {
			c := byCall[i]
			for ; next < len(byGrant) && byGrant[next].grantedAt < c.calledAt; next++ {
				if highest == nil || byGrant[next].token > highest.token {
					highest = byGrant[next]
				}
			}
			if highest != nil && c.token <= highest.token && c.cut == 0 {
				h.fail("tokens", "%s has token %d after %s had %d", c.name(), c.token, highest.name(), highest.token)
			}
			if other := seen[c.token]; other != nil || c.token == 0 {
				h.fail("tokens", "%s has token %d, which is 0 or there already", c.name(), c.token)
			}
			if last := h.counters[p.Name]; last != 0 && c.token > last {
				h.fail("tokens", "%s has token %d, and Redis has made none above %d", c.name(), c.token, last)
			}
			seen[c.token] = c
		}
		h.figures.Tokens += len(holds)
	}
	taken, kept, lost := h.phase.resource.sums()
	h.figures.Writes, h.figures.Fenced = taken, kept
	for _, text := range lost {
		h.fail("fenced resource", "a write was lost: %s", text)
	}
}
