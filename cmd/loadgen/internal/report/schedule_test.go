package report

import (
	"strings"
	"testing"
	"time"

	"github.com/wheellock/wheellock/internal/load"
)

// loop is the account of a load in whose seconds, one after the other, so many pairs were done. It is open unless changed.
func loop(change func(*load.Plan), pairs ...int64) *Result {
	c, f := NewCollector(1), facts()
	f.Plan = load.Plan{Names: 1, Workers: 4, Processes: 1, Rate: 1000, Duration: time.Duration(len(pairs)) * time.Second}
	change(&f.Plan)
	for i, n := range pairs {
		s := aSample(0, load.Measured)
		s.Counts, s.Last = load.Counts{Pairs: n}, i == len(pairs)-1
		if f.Plan.Grows() {
			s.Step = i
		}
		c.Take(s)
	}
	c.Take(ended(0, load.Ending{}))
	return c.Account(f)
}

func TestHeadline(t *testing.T) {
	grows := func(p *load.Plan) { p.FromRate, p.Rate, p.Steps = 1000, 4000, 3 }
	for name, c := range map[string]struct {
		change    func(*load.Plan)
		pairs     []int64
		saturated bool
		want      string
	}{
		"a rate that was reached":         {func(*load.Plan) {}, []int64{1000, 970}, false, ""},
		"a rate that was not":             {func(*load.Plan) {}, []int64{740, 740}, true, "asked 1,000/s, got 740/s: saturated"},
		"calls that hold their lock":      {func(p *load.Plan) { p.Hold = 200 * time.Millisecond }, []int64{800}, false, ""},
		"a closed loop":                   {func(p *load.Plan) { p.Rate = 0 }, []int64{5}, false, ""},
		"a rate that grows":               {grows, []int64{1000, 1990, 3990}, false, "reached each rate, up to 4,000/s"},
		"one that grows too far":          {grows, []int64{1000, 1990, 2500}, true, "asked 4,000/s, got 2,500/s: saturated; reached 2,000/s"},
		"one that is too high at once":    {grows, []int64{700, 700, 700}, true, "asked 1,000/s, got 700/s: saturated"},
		"a step that was held up alone":   {grows, []int64{700, 1990, 3990}, false, "reached each rate, up to 4,000/s"},
		"callers that grow have no rates": {func(p *load.Plan) { p.Rate, p.From, p.Steps = 0, 2, 3 }, []int64{1, 2, 3}, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := loop(c.change, c.pairs...)
			if got := r.Headline(); got != c.want || r.Saturated() != c.saturated || !r.OK {
				t.Errorf("%q, saturated %t, OK %t; want %q, %t and OK", got, r.Saturated(), r.OK, c.want, c.saturated)
			}
			for places, yellow := range map[int]bool{0: false, 80: c.saturated} {
				var out strings.Builder
				r.Table(&out, places)
				if head, _, _ := strings.Cut(out.String(), "\n\n"); c.want != "" && !strings.Contains(head, c.want) || strings.Contains(head, "\x1b[33m") != yellow {
					t.Errorf("on %d places the table begins with %q", places, head)
				}
			}
		})
	}
}

// The best step is the one with the most pairs, but not one that was asked for more than it did.
func TestBestStep(t *testing.T) {
	if best := loop(func(p *load.Plan) { p.FromRate, p.Rate, p.Steps = 1000, 4000, 3 }, 1000, 1990, 2500).Best(); best.Name() != "2,000/s" {
		t.Errorf("of rates: %s", best.Name())
	}
	if best := loop(func(p *load.Plan) { p.Rate, p.From, p.Workers, p.Steps = 0, 1, 4, 3 }, 10, 30, 20).Best(); best.Name() != "2" {
		t.Errorf("of callers: %s", best.Name())
	}
	if best := loop(func(*load.Plan) {}, 10).Best(); best != nil {
		t.Errorf("without steps: %s", best.Name())
	}
}
