package chaos

import (
	"github.com/wheellock/wheellock/internal/judge"
)

// order checks that a fair lock serves first who came first, across processes: nobody who called later by more than
// judge.InLine is granted before one who still waits. Only times in which nothing was broken count.
func (h *history) order() {
	disturbed := h.disturbed(2 * h.phase.lease)
	for _, calls := range h.called(func(c *hold) bool { return c.place.Kind == fairs }) {
		for pair, overtaken := range judge.Order(calls, judge.InLine) {
			a, b := pair[0], pair[1]
			h.figures.Pairs++
			whole := span{a.calledAt, b.grantedAt}
			stood := whole.shared(h.stalls[a.client]) + whole.shared(h.phase.stalls) + whole.shared(h.phase.faints)
			if overtaken && !whole.touched(disturbed) && stood < judge.InLine/2 {
				h.fail("order", "%s was granted before %s", b.name(), a.name())
			}
		}
	}
}
