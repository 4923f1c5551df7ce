package chaos

import (
	"cmp"
	"slices"
	"time"
)

// unnoticed is by how much the telling of a holder may come after the next grant when the machine is full of work:
// that is how long a goroutine may wait for its turn without the process counting as stalled.
const unnoticed = 100 * time.Millisecond

// notice checks that who lost a hold was told before the next was granted. That he could have known, by the clock, is
// checked by exclusion; here it is whether he was told, by Done.
func (h *history) notice() {
	for p, holds := range h.granted() {
		if p.Permits > 0 || p.Kind == rws {
			continue
		}
		slices.SortFunc(holds, func(a, b *hold) int { return cmp.Compare(a.grantedAt, b.grantedAt) })
		for i, c := range holds {
			if c.endedAt == 0 || c.endedBy&isLost == 0 || c.cut != 0 {
				continue
			}
			next := slices.IndexFunc(holds[i+1:], func(o *hold) bool { return o.owner != c.owner })
			if next < 0 {
				continue
			}
			n := holds[i+1+next]
			if h.stalledIn(c.client, span{c.deadline - instant(20*time.Millisecond), max(c.endedAt, n.grantedAt)}) {
				h.figures.Void++
				continue
			}
			margin := n.grantedAt.sub(c.endedAt)
			h.figures.Told++
			if h.figures.Told == 1 || margin < h.figures.Margin {
				h.figures.Margin = margin
			}
			if margin <= -unnoticed {
				h.fail("notice", "%s was told %v after %s had been granted", c.name(), -margin, n.name())
			}
		}
	}
}
