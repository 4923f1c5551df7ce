package chaos

import (
	"fmt"
	"slices"
	"time"
)

// figures are what a phase counted.
type figures struct {
	acquisitions, cancelled, lost, strikes int

	checked int           // by intervals
	tokens  int           // of fencing
	gap     time.Duration // the longest of a free name with waiters, in the recovery period
	quiet   time.Duration // until Redis was empty
	memory  int64         // resident bytes of a client, at most
	outages int           // of Redis, each for each client
	share   float64       // of a processor that a client took in one, at most
}

// judge brings the history before every oracle.
func (h *history) judge() {
	h.exclusion()
	h.tokens()
	h.errors()
	h.liveness()
	h.outages()
	h.memory()
	h.sum()
	h.strikes()
}

func (h *history) sum() {
	f := &h.figures
	f.quiet = h.quiet
	for _, c := range h.calls {
		if c.grantedAt != 0 {
			f.acquisitions++
		}
		if c.denied&isContext != 0 {
			f.cancelled++
		}
		if c.lost() {
			f.lost++
		}
	}
}

// strikes checks that every fault of the phase has hit something: else the run shows nothing. A fault hits when it
// says so, within a tenth of a second of when somebody held a lock and somebody waited for an answer.
func (h *history) strikes() {
	all := h.hits()
	for i := range h.phase.faults {
		f := &h.phase.faults[i]
		hits := all[f.name]
		h.figures.strikes += hits
		if hits == 0 {
			h.fail("void", "%s never hit anything", f.name)
			continue
		}
		spans := h.blows(func(b blow) bool { return b.fault == f && b.hit })
		for i := range spans {
			spans[i] = span{spans[i].from.plus(-100 * time.Millisecond), spans[i].to.plus(100 * time.Millisecond)}
		}
		holding := slices.ContainsFunc(h.calls, func(c *hold) bool {
			return c.grantedAt != 0 && (span{c.grantedAt, max(c.unlockAt, c.endedAt, c.grantedAt)}).touched(spans)
		})
		waiting := slices.ContainsFunc(h.calls, func(c *hold) bool {
			return c.way != tried && (span{c.calledAt, max(c.answeredAt(), c.calledAt)}).touched(spans)
		})
		if !holding || !waiting {
			h.fail("void", "%s hit %d times, never while somebody held (%v) and somebody waited (%v)", f.name, hits, holding, waiting)
		}
	}
}

// hits counts strikes that hit, by fault.
func (h *history) hits() map[string]int {
	hits := make(map[string]int)
	for _, b := range h.phase.blows {
		if b.hit {
			hits[b.fault.name]++
		}
	}
	return hits
}

// line sums the phase up.
func (h *history) line() string {
	f := h.figures
	return fmt.Sprintf("%s: %d acquired, %d cancelled, %d lost, %d checked, %d tokens, %d strikes, gap %v, quiet %v, %d MB at most; %d outages, %.1f %% of a processor at most; hits %v",
		h.phase.name, f.acquisitions, f.cancelled, f.lost, f.checked, f.tokens, f.strikes, f.gap.Round(time.Millisecond), f.quiet.Round(time.Millisecond), f.memory>>20, f.outages, 100*f.share, h.hits())
}
