package chaos

import (
	"time"

	"github.com/wheellock/wheellock/internal/judge"
)

// Bounds of what callers wait for, beside the stalls of the machine.
const (
	late     = 2 * time.Second         // after a call's own bound
	settling = 1500 * time.Millisecond // after a fault, until everything is as if it had not been
)

// liveness checks that nobody was left behind: every call of a living client was answered, those with a bound soon
// after it, and no name stood free while somebody waited, in times in which nothing was broken.
func (h *history) liveness() {
	for _, c := range h.calls {
		if c.client.wasKilled() {
			continue
		}
		at := c.answeredAt()
		if at == 0 {
			h.fail("liveness", "%s, a call of way %d, was never answered", c.name(), c.way)
			continue
		}
		if c.bound == 0 || at <= c.bound.plus(late) {
			continue
		}
		over := span{c.calledAt, at}
		slept := over.shared(h.stalls[c.client]) + over.shared(h.phase.stalls) + over.shared(c.client.freezes())
		if at.sub(c.bound) > late+slept {
			h.fail("liveness", "%s was answered %v after its bound", c.name(), at.sub(c.bound))
		}
	}
	h.gaps()
}

// gaps looks for names that nobody can have held while somebody waited for them.
func (h *history) gaps() {
	disturbed := append(h.disturbed(settling), span{0, h.phase.began.plus(settling)})
	isLock := func(c *hold) bool {
		return c.place.Permits == 0 && !c.client.wasKilled()
	}
	for p, calls := range h.called(isLock) {
		for gap := range judge.Gaps(calls) {
			free := span{instant(gap.From), instant(gap.To)}
			if free.touched(disturbed) {
				continue
			}
			length, slept := free.to.sub(free.from), free.shared(h.phase.stalls)
			for _, c := range gap.Waiting { // it may be the one whose turn it was
				slept = max(slept, free.shared(h.stalls[c.client]))
			}
			h.figures.gap = max(h.figures.gap, length)
			if length > judge.Stranded+slept+free.shared(h.phase.faints) {
				h.fail("liveness", "%s was free from %d for %v while %d waited for it", p.Name, free.from, length, len(gap.Waiting))
			}
		}
	}
}

// freeAt is when the hold surely was over, for all that is known.
func (c *hold) freeAt() instant {
	end := max(c.deadline.plus(100*time.Millisecond), c.endedAt)
	if c.unlockedAt != 0 {
		end = c.unlockedAt
		if c.unlocked != 0 {
			end = max(end, c.deadline)
		}
	}
	return end
}
