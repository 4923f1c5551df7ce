package chaos

import (
	"cmp"
	"slices"
	"time"
)

// least is how long names of the kind stays are taken after each grant: longer than the lease of their phase, so that the death of a
// holder frees none earlier.
const least = 700 * time.Millisecond

// clockUnit is what the end of a key may differ from the time in a token, which is in microseconds: Redis counts ends in
// milliseconds, twice rounded.
const clockUnit = 2 * time.Millisecond

// stay checks that names stay taken for their least time, whatever became of their holders. The token of a fenced lock is the
// server's time at the grant, in microseconds. So one clock measures, and it does not matter when anybody heard of a grant.
func (h *history) stay() {
	for p, holds := range h.granted() {
		if p.Kind != stays {
			continue
		}
		slices.SortFunc(holds, func(a, b *hold) int { return cmp.Compare(a.token, b.token) })
		for i, next := range holds[min(1, len(holds)):] {
			c := holds[i]
			if after := time.Duration(next.token-c.token) * time.Microsecond; c.cut == 0 && after < least-clockUnit {
				h.fail("stay", "%s was granted %v after %s", next.name(), after, c.name())
			}
			h.figures.Stays++
		}
	}
}
