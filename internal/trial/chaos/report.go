package chaos

import (
	"fmt"
	"strings"
	"time"
)

// result is what a run found out.
type result struct {
	Seed   uint64         `json:"seed"` // -seed repeats the calls and the strikes
	Began  time.Time      `json:"began"`
	Lasted time.Duration  `json:"lasted"`
	Phases []phaseResult  `json:"phases"`
	Hits   map[string]int `json:"hits"` // strikes that hit, by fault
	Total  figures        `json:"total"`
}

type phaseResult struct {
	Name       string         `json:"name"`
	Seed       uint64         `json:"seed"`
	Figures    figures        `json:"figures"`
	Hits       map[string]int `json:"hits"`
	Violations []violation    `json:"violations,omitempty"`
}

// add takes a phase in.
func (r *result) add(h *history) {
	hits := h.hits()
	r.Phases = append(r.Phases, phaseResult{h.phase.name, h.phase.seed, h.figures, hits, h.violations})
	r.Total.add(h.figures)
	for name, n := range hits {
		r.Hits[name] += n
	}
}

// table sums up by phase and by fault.
func (r *result) table() string {
	by := make(map[string]*figures)
	var names []string
	for _, p := range r.Phases {
		if by[p.Name] == nil {
			by[p.Name] = &figures{}
			names = append(names, p.Name)
		}
		by[p.Name].add(p.Figures)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d, %v\n%-20s %10s %10s %8s %8s %10s %10s %10s %10s\n", r.Seed, r.Lasted.Round(time.Second),
		"phase", "acquired", "cancelled", "lost", "strikes", "margin", "gap", "quiet", "violations")
	row := func(name string, f *figures) {
		fmt.Fprintf(&b, "%-20s %10d %10d %8d %8d %10v %10v %10v %10d\n", name, f.Acquisitions, f.Cancelled, f.Lost, f.Strikes,
			f.Margin.Round(10*time.Microsecond), f.Gap.Round(time.Millisecond), f.Quiet.Round(time.Millisecond), f.Violations)
	}
	for _, name := range names {
		row(name, by[name])
	}
	row("all", &r.Total)
	fmt.Fprintf(&b, "%d holds checked, %d fencing tokens\n", r.Total.Checked, r.Total.Tokens)
	fmt.Fprintf(&b, "%d times a client with a hot lock lived through an outage of Redis, with %.1f %% of a processor at most; no client had more than %d MB\n",
		r.Total.Outages, 100*r.Total.Share, r.Total.Memory>>20)
	fmt.Fprintf(&b, "%d holders were told of their loss before the next grant was compared; %d more had not been running\n%-22s %7s\n",
		r.Total.Told, r.Total.Void, "fault", "hits")
	for _, f := range allFaults {
		fmt.Fprintf(&b, "%-22s %7d\n", f.name, r.Hits[f.name])
	}
	return b.String()
}
