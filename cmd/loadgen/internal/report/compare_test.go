package report

import (
	"strings"
	"testing"
	"time"

	"github.com/wheellock/wheellock/internal/load"
)

// runsAt are runs with these throughputs and a median latency that is a thousandth of them, in µs.
func runsAt(names int, throughputs ...float64) (runs []*Result) {
	for _, v := range throughputs {
		runs = append(runs, &Result{
			Format: Format, OK: true, Plan: load.Plan{Kind: load.Mutex, Names: names, Workers: 4, Processes: 1},
			PairsPerSecond: &v, Latency: Latencies{Acquire: &Latency{Mean: v / 1000, Max: v / 1000}},
		})
	}
	return runs
}

func TestCompare(t *testing.T) {
	for _, c := range []struct {
		name         string
		a, b         []*Result
		want, absent []string
	}{
		{"runs that are apart", runsAt(3, 1000, 1100, 1200), runsAt(3, 2000, 2200, 2300),
			[]string{"throughput 1,100 9.1% 2,200 9.1% +100.0% better", "acquire.mean 1.10 µs 9.1% 2.20 µs 9.1% +100.0% worse"}, []string{"What differs", "no spread"}},
		{"runs that overlap", runsAt(3, 1000, 1100, 1300), runsAt(3, 1200, 1400, 1500), []string{"throughput 1,100 18.2% 1,400 14.3% +27.3% overlap"}, nil},
		{"single runs", runsAt(3, 1000), runsAt(3, 900), []string{"throughput 1,000 900 -10.0% worse", "A side of one run has no spread"}, nil},
		{"a change that is none when it is written", runsAt(3, 100_000), runsAt(3, 99_990), []string{"throughput 100,000 99,990 +0.0%"}, []string{"-0.0%", "worse", "better"}},
		{"nothing known on one side", runsAt(3, 1000), []*Result{{Plan: runsAt(3, 1)[0].Plan, Problems: []string{"nothing was measured"}}},
			[]string{"NOT OK: nothing was measured", "throughput 1,000 n/a n/a"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out strings.Builder
			if err := Compare(&out, Side{"a.json", c.a}, Side{"b.json", c.b}, 0); err != nil {
				t.Fatal(err)
			}
			said := strings.Join(strings.Fields(out.String()), " ")
			for _, word := range c.want {
				if !strings.Contains(said, word) {
					t.Errorf("it does not say %q:\n%s", word, out.String())
				}
			}
			for _, word := range c.absent {
				if strings.Contains(said, word) {
					t.Errorf("it says %q:\n%s", word, out.String())
				}
			}
		})
	}
}

func TestDifferentLoadsAreNotCompared(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Result)
		want   string // of the error; empty: there is none
		said   string
	}{
		"names":    {func(r *Result) { r.Plan.Names = 5 }, "a.json and b.json are different loads: names 3 and 5. Measure both with the same flags", ""},
		"a time":   {func(r *Result) { r.Plan.Hold = 2 * time.Millisecond }, "hold 0s and 2ms", ""},
		"handoff":  {func(r *Result) { r.Plan.Handoff = -1 }, "", "What differs: handoff."},
		"machines": {func(r *Result) { r.Machine.CPUs, r.Server.Version, r.Plan.Seed = 99, "9", 5 }, "", "What differs: machine, server."},
	} {
		t.Run(name, func(t *testing.T) {
			b := runsAt(3, 1000)
			c.change(b[0])
			var out strings.Builder
			err := Compare(&out, Side{"a.json", runsAt(3, 1000)}, Side{"b.json", b}, 0)
			if (err != nil) != (c.want != "") || err != nil && (!strings.Contains(err.Error(), c.want) || out.Len() > 0) {
				t.Errorf("got %v and %q, want %q and no table", err, out.String(), c.want)
			}
			if !strings.Contains(out.String(), c.said) {
				t.Errorf("it does not say %q:\n%s", c.said, out.String())
			}
		})
	}
}
