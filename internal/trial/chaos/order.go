package chaos

import (
	"cmp"
	"slices"
	"time"
)

// inLine is how long a call for a fair lock may take until it stands in the queue, by a link that works.
const inLine = 500 * time.Millisecond

// order checks that a fair lock serves first who came first, across processes: nobody who called later by more than
// inLine is granted before one who still waits. Only times in which nothing was broken count.
func (h *history) order() {
	var disturbed []span
	for _, b := range h.phase.blows {
		if b.fault.unnoticed {
			continue
		}
		disturbed = append(disturbed, span{b.when.from, b.when.to.plus(2 * h.phase.lease)})
	}
	by := make(map[*place][]*hold)
	for _, c := range h.calls {
		if c.place.Kind == fairs && c.way != tried {
			by[c.place] = append(by[c.place], c)
		}
	}
	for _, all := range by {
		calls := slices.DeleteFunc(slices.Clone(all), func(c *hold) bool { return c.answeredAt() == 0 })
		slices.SortFunc(calls, func(a, b *hold) int { return cmp.Compare(a.calledAt, b.calledAt) })
		for i, a := range calls {
			for _, b := range calls[i+1:] {
				if b.calledAt > a.answeredAt() {
					break
				}
				if b.grantedAt == 0 || b.calledAt < a.calledAt.plus(inLine) {
					continue
				}
				h.figures.Pairs++
				whole := span{a.calledAt, b.grantedAt}
				stood := whole.shared(h.stalls[a.client]) + whole.shared(h.phase.stalls) + whole.shared(h.phase.faints)
				if b.grantedAt < a.answeredAt() && !whole.touched(disturbed) && stood < inLine/2 {
					h.fail("order", "%s was granted before %s", b.name(), a.name())
				}
			}
		}
	}
}
