package chaos

import (
	"time"

	"github.com/wheellock/wheellock/internal/judge"
)

// inLine is how long a call for a fair lock may take until it stands in the queue, by a link that works.
const inLine = 500 * time.Millisecond

// order checks that a fair lock serves first who came first, across processes: nobody who called later by more than
// inLine is granted before one who still waits. Only times in which nothing was broken count.
func (h *history) order() {
	disturbed := h.disturbed(2 * h.phase.lease)
	for _, calls := range h.called(func(c *hold) bool { return c.place.Kind == fairs }) {
		for pair, overtaken := range judge.Order(calls, inLine) {
			a, b := pair[0], pair[1]
			h.figures.Pairs++
			whole := span{a.calledAt, b.grantedAt}
			stood := whole.shared(h.stalls[a.client]) + whole.shared(h.phase.stalls) + whole.shared(h.phase.faints)
			if overtaken && !whole.touched(disturbed) && stood < inLine/2 {
				h.fail("order", "%s was granted before %s", b.name(), a.name())
			}
		}
	}
}
