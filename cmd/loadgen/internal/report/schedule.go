package report

import (
	"fmt"

	"github.com/wheellock/wheellock/internal/load"
	"github.com/wheellock/wheellock/internal/testkit/figures"
)

// Schedule says whether an open loop made the calls that were due. Of a rate that grows it is that of the first step from which on all
// were saturated, or of the last.
type Schedule struct {
	Asked     float64 `json:"asked_per_s"`
	Got       float64 `json:"got_per_s"` // calls that came to an end, as a pair or otherwise
	Saturated bool    `json:"saturated"`
}

// inTime is the share of the calls that must come to an end for a rate to count as reached. The rest is what a machine that pauses for 20 ms
// at the end of a second is behind with.
const inTime = 0.98

// scheduleOf is that of a step, or of all without steps. Nil: a closed loop has none. Calls that hold their lock at the end are not behind.
func scheduleOf(s *load.Sample, p *load.Plan, step int) *Schedule {
	if p.Rate == 0 {
		return nil
	}
	k, asked, seconds := &s.Counts, p.RateIn(step), s.Elapsed.Seconds()
	ended, due := float64(k.Pairs+k.Timeouts+k.Failed+k.Overstayed), asked*seconds
	got := 0.0
	if seconds > 0 {
		got = ended / seconds
	}
	return &Schedule{asked, got, due-ended > (1-inTime)*due+asked*p.Hold.Seconds()+1}
}

func (r *Result) schedule(all *load.Sample) (found *Schedule) {
	if len(r.Steps) == 0 {
		return scheduleOf(all, &r.Plan, 0)
	}
	for i := len(r.Steps) - 1; i >= 0 && (found == nil || r.Steps[i].saturated()); i-- {
		found = r.Steps[i].Schedule
	}
	return found
}

func (s *Step) saturated() bool { return s.Schedule != nil && s.Schedule.Saturated }

// Saturated reports whether a rate was not reached.
func (r *Result) Saturated() bool { return r.Schedule != nil && r.Schedule.Saturated }

// reached is the share of the calls that were due which came to an end.
func (r *Result) reached() *float64 {
	if r.Schedule == nil {
		return nil
	}
	return figures.Share(r.Schedule.Got, r.Schedule.Asked)
}

// Headline says what must be known before any figure: that a rate was not reached, and of one that grows up to where it was. Empty: there is
// nothing of the kind.
func (r *Result) Headline() string {
	switch best := r.Best(); {
	case r.Saturated() && best != nil && !best.saturated():
		return r.saturation() + "; reached " + best.Name()
	case r.Saturated():
		return r.saturation()
	case r.Schedule != nil && best != nil:
		return "reached each rate, up to " + best.Name()
	default:
		return ""
	}
}

func (r *Result) saturation() string {
	return fmt.Sprintf("asked %s/s, got %s/s: saturated", figures.Three(r.Schedule.Asked), figures.Three(r.Schedule.Got))
}

// Best is the step with the most pairs per second, of those that were not saturated if there are any; nil: there are no steps.
func (r *Result) Best() (best *Step) {
	for i := range r.Steps {
		s := &r.Steps[i]
		if best == nil || !s.saturated() && (best.saturated() || s.PairsPerSecond > best.PairsPerSecond) {
			best = s
		}
	}
	return best
}
