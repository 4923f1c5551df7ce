package report

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wheellock/wheellock/cmd/loadgen/internal/target"
	"github.com/wheellock/wheellock/internal/load"
	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/internal/testkit/figures"
)

// The names and types in the JSON are an interface: testdata/schema.golden holds them.
func TestJSONSchema(t *testing.T) {
	var lines []string
	for _, steps := range []int{0, 2} {
		text, err := json.Marshal(broken(func(c *Collector, f *Facts) {
			f.Died[1] = "killed"
			f.KeysLeft, f.PermitsWrong = names(1), names(1)
			c.endings[0].Stranded = names(1)
			if f.Plan.Steps = steps; steps > 0 {
				f.Plan.Kind, f.Plan.FromRate, f.Plan.Rate = load.RW, 1, 100
			}
		}))
		testkit.Must(t, err)
		var tree any
		testkit.Must(t, json.Unmarshal(text, &tree))
		lines = append(lines, paths("", tree)...)
	}
	slices.Sort(lines)
	wantGolden(t, "schema.golden", strings.Join(slices.Compact(lines), "\n")+"\n")
}

// paths lists where in a tree which type stands. The keys of maps that are data are not told apart.
func paths(at string, tree any) (lines []string) {
	switch v := tree.(type) {
	case map[string]any:
		for key, value := range v {
			if at == ".redis.commands" || at == ".calls.errors" {
				key = "*"
			}
			lines = append(lines, paths(at+"."+key, value)...)
		}
	case []any:
		for _, value := range v {
			lines = append(lines, paths(at+"[]", value)...)
		}
	case nil:
		return []string{at + " null"}
	default:
		return []string{fmt.Sprintf("%s %T", at, v)}
	}
	return lines
}

func near(t *testing.T, what string, got *float64, want float64) {
	t.Helper()
	if got == nil || math.Abs(*got-want) > want*0.001 {
		t.Errorf("%s is %v, want %v", what, figures.Shown(got, figures.Three), want)
	}
}

func TestAccountAddsUp(t *testing.T) {
	r := collected().Account(facts())
	if r.Pairs != 4000 || r.Seconds != 2 {
		t.Errorf("%d pairs in %v s; want 4000 in 2, without the warm-up", r.Pairs, r.Seconds)
	}
	near(t, "pairs/s", r.PairsPerSecond, 2000)
	near(t, "attempts per grant", r.Engine.AttemptsPerGrant, 0.8)
	near(t, "handoff share", r.Engine.HandoffShare, 0.25)
	near(t, "client CPU", r.Client.CPUPerPair, 5)
	near(t, "allocations", r.Client.AllocsPerPair, 12)
	near(t, "Redis CPU", r.Redis.CPUPerPair, 10)
	near(t, "scripts", r.Redis.ScriptsPerPair, 0.75)
	// 400 checks of 3 commands each are apart.
	near(t, "commands", r.Redis.CommandsPerPair, (3000+3200+3200+3100)/4000.0)
	across := float64(r.Latency.Across.Count)
	near(t, "scripts per hand-over", r.Redis.Across.Scripts, 3000/across)
	near(t, "commands per hand-over", r.Redis.Across.Commands, (3000+3200+3200+3100)/across)
	if r.Redis.CheckCommands != 1200 || r.Redis.Commands["incr"] != 0 || r.Redis.Commands["del"] != 3100 {
		t.Errorf("check commands %d, commands %v", r.Redis.CheckCommands, r.Redis.Commands)
	}
	if a := r.Latency.Acquire; a.Count != 4000 || math.Abs(a.P50-500) > 1 || math.Abs(a.P999-999) > 2 || math.Abs(a.Max-1000) > 2 {
		t.Errorf("acquire %+v", a)
	}
	if r.Client.Goroutines != 60 || r.Calls.NotStarted != 8 || r.Calls.GivenUp != 2 {
		t.Errorf("goroutines %d, not started %d, given up %d; want 60, 8, 2", r.Client.Goroutines, r.Calls.NotStarted, r.Calls.GivenUp)
	}
	if len(r.PerSecond) != 2 || r.PerSecond[1].End != 2 || r.PerSecond[1].PairsPerSecond != 2000 {
		t.Errorf("per second: %+v", r.PerSecond)
	}
	if !r.OK || r.Broken() || len(r.Problems) != 0 {
		t.Errorf("OK %t, problems %q", r.OK, r.Problems)
	}
}

func TestAccountOfNothing(t *testing.T) {
	c := NewCollector(1)
	c.Take(ended(0, load.Ending{}))
	f := facts()
	f.Plan.Processes, f.Redis = 1, target.Reading{}
	r := c.Account(f)
	if r.OK || r.Broken() || r.PairsPerSecond != nil || r.Latency.Acquire != nil || r.Redis.Known {
		t.Errorf("%+v", r)
	}
	if _, err := json.Marshal(r); err != nil {
		t.Errorf("it cannot be written: %v", err)
	}
	r.Table(&strings.Builder{}, 0)
	f.EndedEarly = true
	if r := c.Account(f); !r.OK || r.Problems == nil {
		t.Errorf("ended in the warm-up: problems %q, want none", r.Problems)
	}
}

// What nobody waited for is not 0: in JSON it is null, and no row of the table or of a comparison.
func TestAnIntervalWithoutGrants(t *testing.T) {
	r := broken(func(c *Collector, f *Facts) {
		f.Plan.Steps, f.Plan.From, f.Plan.Workers = 2, 1, 4
		c.steps = []load.Sample{*aSample(0, load.Measured), {Phase: load.Measured, Elapsed: time.Second}}
	})
	text, err := json.Marshal(r.Steps[1])
	if err != nil || !strings.Contains(string(text), `"acquire_p50_us":null`) {
		t.Errorf("%v: %s", err, text)
	}
	var table, compared strings.Builder
	r.Table(&table, 0)
	if !regexp.MustCompile(`\n +4 +0 +n/a +n/a +n/a +n/a `).MatchString(table.String()) {
		t.Error(table.String())
	}
	if err := Compare(&compared, Side{"a", []*Result{r}}, Side{"b", []*Result{r}}, 0); err != nil || strings.Contains(compared.String(), "4: acquire") {
		t.Errorf("%v:\n%s", err, compared.String())
	}
}

func TestJain(t *testing.T) {
	for _, c := range []struct {
		x    []int64
		want float64
	}{{[]int64{5, 5, 5, 5}, 1}, {[]int64{8, 0, 0, 0}, 0.25}, {[]int64{1, 3}, 0.8}} {
		f := fairness(c.x)
		sum := 0.0
		for _, n := range c.x {
			sum += float64(n)
		}
		if f.LeastShare != float64(f.Least)/sum || f.MostShare != float64(f.Most)/sum {
			t.Errorf("shares of %v from %g to %g", c.x, f.LeastShare, f.MostShare)
		}
		if math.Abs(f.Jain-c.want) > 1e-9 || f.Of != len(c.x) || f.Least != slices.Min(c.x) || f.Most != slices.Max(c.x) {
			t.Errorf("fairness of %v is %+v, want %v", c.x, f, c.want)
		}
	}
	for _, x := range [][]int64{nil, {7}, {0, 0}} {
		if f := fairness(x); f != nil {
			t.Errorf("fairness of %v is %+v, want none", x, f)
		}
	}
	f := facts()
	f.Plan.Rate = 100
	if r := collected().Account(f); r.Fairness.Workers != nil || r.Fairness.Processes == nil {
		t.Errorf("open loop: fairness %+v, want that of processes alone", r.Fairness)
	}
}
