package chaos

import "github.com/wheellock/wheellock/internal/judge"

// Judged is the call as package judge sees it.
func (c *hold) Judged() judge.Call {
	return judge.Call{
		Owner: c.owner, Shared: c.place.Kind == rws && !c.write, Permits: int64(c.n), Tried: c.way == tried, Asked: judge.Time(c.calledAt), Answered: judge.Time(c.answeredAt()),
		Granted: judge.Time(c.grantedAt), Until: judge.Time(c.surelyUntil()), Free: judge.Time(c.freeAt()), Token: c.token,
	}
}

// exclusion checks that holds that exclude each other were never believed in at the same time: each surely lasts
// from when its grant was heard of until its deadline, its Unlock or the notice of its end.
func (h *history) exclusion() {
	for p, holds := range h.granted() {
		for c, others := range judge.Overlaps(int64(p.Permits), holds) {
			h.fail("exclusion", "%s was held together with %d more, the last %s", c.name(), len(others), others[len(others)-1].name())
		}
		h.figures.checked += len(holds)
	}
}
