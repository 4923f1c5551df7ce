package chaos

import (
	"fmt"
	"slices"
	"time"

	kit "github.com/wheellock/wheellock/internal/testkit/figures"
)

// figures are what a phase, or a run, counted.
type figures struct {
	Calls        int           `json:"calls"`
	Acquisitions int           `json:"acquisitions"`
	Cancelled    int           `json:"cancelled"`
	Lost         int           `json:"lost"`
	Strikes      int           `json:"strikes"`
	Checked      int           `json:"checked_by_intervals"`
	Tokens       int           `json:"tokens"`
	Told         int           `json:"holders_told"`
	Void         int           `json:"holders_stalled"`
	Margin       time.Duration `json:"smallest_margin"` // from a holder's notice to the next grant
	Gap          time.Duration `json:"longest_gap"`     // of a free name with waiters, in the recovery period
	Quiet        time.Duration `json:"longest_quiet"`   // until Redis was empty
	Memory       int64         `json:"memory"`          // resident bytes of a client, at most
	Outages      int           `json:"outages"`         // of Redis, each for each client
	Share        float64       `json:"outage_share"`    // of a processor that a client took in one, at most
	Violations   int           `json:"violations"`
}

// add adds up; what is a bound stays the worst.
func (f *figures) add(o figures) {
	was := *f
	kit.Add(f, &o)
	f.Gap, f.Quiet, f.Memory, f.Share = max(was.Gap, o.Gap), max(was.Quiet, o.Quiet), max(was.Memory, o.Memory), max(was.Share, o.Share)
	switch f.Margin = min(was.Margin, o.Margin); {
	case was.Told == 0:
		f.Margin = o.Margin
	case o.Told == 0:
		f.Margin = was.Margin
	}
}

// judge brings the history before every oracle.
func (h *history) judge() {
	h.exclusion()
	h.tokens()
	h.errors()
	h.liveness()
	h.notice()
	h.outages()
	h.memory()
	h.sum()
	h.strikes()
}

func (h *history) sum() {
	f := &h.figures
	f.Calls, f.Quiet = len(h.calls), h.quiet
	for _, c := range h.calls {
		if c.grantedAt != 0 {
			f.Acquisitions++
		}
		if c.denied&isContext != 0 {
			f.Cancelled++
		}
		if c.lost() {
			f.Lost++
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
		h.figures.Strikes += hits
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
	return fmt.Sprintf("%-18s %8d acquired %6d cancelled %5d lost %6d strikes  told %4d margin %-8v gap %-8v quiet %-8v %d violations", h.phase.name,
		f.Acquisitions, f.Cancelled, f.Lost, f.Strikes, f.Told, f.Margin.Round(time.Microsecond), f.Gap.Round(time.Millisecond), f.Quiet.Round(time.Millisecond), f.Violations)
}
