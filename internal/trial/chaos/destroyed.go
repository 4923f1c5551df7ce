package chaos

import "time"

// cuts marks the holds whose keys a strike may have destroyed, each with the first such strike. It has to have been
// taken in Redis before the strike was over, which the caller may hear a little later, or by a lease when its process
// was not well. A hold that was called for afterwards may have been handed on in a tenure from before, for
// HandoffTime, or have entered one again, for two leases.
func (h *history) cuts() {
	links := make(map[int][]span)
	for _, b := range h.phase.blows {
		links[b.client] = append(links[b.client], b.when)
	}
	for _, b := range h.phase.blows {
		if !b.fault.destroys {
			continue
		}
		for _, c := range h.calls {
			if c.grantedAt == 0 || b.place != nil && b.place != c.place || c.lastKnown() < b.when.from {
				continue
			}
			heard, inherits := 150*time.Millisecond, 20*time.Millisecond
			if way := (span{b.when.from, c.grantedAt}); h.stalledIn(c.client, way) || way.touched(links[c.client.Number]) || way.touched(links[all]) {
				heard = 2 * h.phase.lease
			}
			if c.place.Kind == reentrant {
				heard, inherits = 2*h.phase.lease, 2*h.phase.lease
			}
			if c.calledAt > b.when.to.plus(inherits) || c.grantedAt > b.when.to.plus(heard) {
				continue
			}
			if c.cut == 0 || b.when.from < c.cut {
				c.cut = b.when.from
			}
		}
	}
}

// lastKnown is when the hold was over at the latest.
func (c *hold) lastKnown() instant { return max(c.grantedAt, c.deadline, c.endedAt) }
