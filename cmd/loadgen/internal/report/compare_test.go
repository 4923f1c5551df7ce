package report

import (
	"strings"
	"testing"

	"github.com/wheellock/wheellock/cmd/loadgen/internal/load"
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
			[]string{"throughput 1,100 9.1% 2,200 9.1% +100.0% better", "acquire.mean 1.10 µs 9.1% 2.20 µs 9.1% +100.0% worse"}, []string{"not the same", "no spread"}},
		{"runs that overlap", runsAt(3, 1000, 1100, 1300), runsAt(3, 1200, 1400, 1500), []string{"throughput 1,100 18.2% 1,400 14.3% +27.3% overlap"}, nil},
		{"single runs", runsAt(3, 1000), runsAt(3, 900), []string{"throughput 1,000 900 -10.0% worse", "A side of one run has no spread"}, nil},
		{"other loads", runsAt(3, 1000), runsAt(5, 1000), []string{"The loads are not the same: names.", "throughput 1,000 1,000 +0.0%"}, []string{"better"}},
		{"nothing known on one side", runsAt(3, 1000), []*Result{{Plan: runsAt(3, 1)[0].Plan, Problems: []string{"nothing was measured"}}},
			[]string{"NOT OK: nothing was measured", "throughput 1,000 n/a n/a"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out strings.Builder
			Compare(&out, Side{"a.json", c.a}, Side{"b.json", c.b}, 0)
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
