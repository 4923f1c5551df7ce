package chaos

import (
	"cmp"
	"slices"
	"time"
)

// Bounds of what callers wait for, beside the stalls of the machine.
const (
	late     = 2 * time.Second         // after a call's own bound
	settling = 1500 * time.Millisecond // after a fault, until everything is as if it had not been
	stranded = 1500 * time.Millisecond // with a name free, the network working and somebody waiting
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

// change is what happens to a name at an instant.
type change struct {
	at            instant
	held, waiting int      // more or less
	client        *process // that waits; nil: the change is of a hold
}

// gaps looks for names that nobody can have held while somebody waited for them.
func (h *history) gaps() {
	disturbed := []span{{0, h.phase.began.plus(settling)}}
	for _, b := range h.phase.blows {
		if b.fault.unnoticed {
			continue
		}
		disturbed = append(disturbed, span{b.when.from, b.when.to.plus(settling)})
	}
	by := make(map[*place][]change)
	for _, c := range h.calls {
		if c.place.Permits == 0 && c.place.Kind != latches && c.place.Kind != edges && !c.client.wasKilled() {
			by[c.place] = append(by[c.place], c.changes()...)
		}
	}
	for p, changes := range by {
		slices.SortFunc(changes, func(a, b change) int { return cmp.Compare(a.at, b.at) })
		var held, waiting int
		var since instant
		waiters := make(map[*process]int) // of each client
		for _, ch := range changes {
			if gap := (span{since, ch.at}); held == 0 && waiting > 0 && !gap.touched(disturbed) {
				h.figures.Gap = max(h.figures.Gap, ch.at.sub(since))
				var slept time.Duration // of a client that waits: it may be the one whose turn it was
				for client, n := range waiters {
					if n > 0 {
						slept = max(slept, gap.shared(h.stalls[client]))
					}
				}
				if ch.at.sub(since) > stranded+max(slept, gap.shared(h.phase.stalls))+gap.shared(h.phase.faints) {
					h.fail("liveness", "%s was free from %d for %v while %d waited for it", p.Name, since, ch.at.sub(since), waiting)
				}
			}
			wasGap := held == 0 && waiting > 0
			held, waiting = held+ch.held, waiting+ch.waiting
			waiters[ch.client] += ch.waiting
			if !wasGap {
				since = ch.at
			}
		}
	}
}

// changes are those that a call makes to its name.
func (c *hold) changes() []change {
	var all []change
	if at := c.answeredAt(); at != 0 && c.way != tried {
		all = append(all, change{at: c.calledAt, waiting: 1, client: c.client}, change{at: at, waiting: -1, client: c.client})
	}
	if c.grantedAt != 0 {
		end := max(c.deadline.plus(100*time.Millisecond), c.endedAt)
		if c.unlockedAt != 0 {
			end = c.unlockedAt
			if c.unlocked != 0 {
				end = max(end, c.deadline)
			}
		}
		if c.place.Kind == stays {
			end = max(end, c.grantedAt.plus(least))
		}
		all = append(all, change{at: c.grantedAt, held: 1}, change{at: max(end, c.grantedAt), held: -1})
	}
	return all
}
