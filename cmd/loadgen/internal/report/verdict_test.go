package report

import (
	"strings"
	"testing"

	"github.com/wheellock/wheellock/internal/load"
)

func TestVerdict(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Collector, *Facts)
		broken bool
		words  string
	}{
		"a violation in memory":            {func(c *Collector, _ *Facts) { c.measured.Counts.Violations = 1 }, true, "EXCLUSION VIOLATED: 1 time found in memory"},
		"a violation in the warm-up":       {func(c *Collector, _ *Facts) { c.unplaced.Violations = 2 }, true, "EXCLUSION VIOLATED: 2 times found in memory"},
		"a violation that Redis saw":       {func(c *Collector, _ *Facts) { c.measured.Counts.SeenInRedis = 1 }, true, "by the counter in Redis"},
		"a violation Redis saw in between": {func(c *Collector, _ *Facts) { c.unplaced.SeenInRedis = 1 }, true, "by the counter in Redis"},
		"too many permits":                 {func(c *Collector, f *Facts) { f.Plan.Kind, c.measured.Counts.Violations = load.Permits, 1 }, true, "more permits were out"},
		"a writer with company":            {func(c *Collector, f *Facts) { f.Plan.Kind, c.measured.Counts.Violations = load.RW, 1 }, true, "a writer was not alone"},
		"a latch passed early":             {func(c *Collector, _ *Facts) { c.measured.Counts.Early = 2 }, true, "PASSED EARLY: 2 times"},
		"a token that went back":           {func(c *Collector, _ *Facts) { c.unplaced.TokensBack = 1 }, true, "TOKENS WENT BACK: 1 time"},
		"a fair lock out of turn":          {func(c *Collector, _ *Facts) { c.measured.Counts.Disordered = 1 }, true, "OUT OF TURN: 1 time"},
		"permits that are not back":        {func(_ *Collector, f *Facts) { f.PermitsWrong = []string{"loadgen:X:0 (3 of 4)"} }, true, "PERMITS LOST OR MADE: not all are back, or more: loadgen:X:0 (3 of 4)"},
		"a key left":                       {func(_ *Collector, f *Facts) { f.KeysLeft = names(1) }, true, "KEYS LEFT in Redis though nobody holds them: loadgen:X:0"},
		"many keys left":                   {func(_ *Collector, f *Facts) { f.KeysLeft = names(9) }, true, "loadgen:X:4 and 4 more"},
		"a stranded waiter":                {func(c *Collector, _ *Facts) { c.endings[1].Stranded = names(1) }, true, "STRANDED: 1 caller left waiting"},
		"stuck calls":                      {func(c *Collector, _ *Facts) { c.endings[1].Stuck = 2 }, true, "STUCK: 2 calls cancelled in vain"},
		"a dead process":                   {func(_ *Collector, f *Facts) { f.Died[1] = "signal: killed" }, false, "process 2 died: signal: killed"},
		"Redis gone at the end":            {func(c *Collector, _ *Facts) { c.endings[0].Down = true }, false, "Redis could not be reached at the end"},
		"a problem from elsewhere":         {func(_ *Collector, f *Facts) { f.Problems = []string{"no INFO"} }, false, "no INFO"},
	} {
		t.Run(name, func(t *testing.T) {
			r := broken(c.change)
			if r.OK || r.Broken() != c.broken {
				t.Errorf("OK %t, broken %t; want false, %t", r.OK, r.Broken(), c.broken)
			}
			if all := strings.Join(r.Problems, "\n"); len(r.Problems) != 1 || !strings.Contains(all, c.words) {
				t.Errorf("problems %q, want one with %q", all, c.words)
			}
			var table strings.Builder
			if r.Table(&table, 1000); !strings.Contains(table.String(), c.words) || strings.Contains(table.String(), "no violation") {
				t.Errorf("the table says:\n%s", table.String())
			}
		})
	}
}
