package report

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/wheellock/wheellock/internal/testkit/figures"
)

// Side is one side of a comparison.
type Side struct {
	Name string // of the file
	Runs []*Result
}

// Compare writes two results of one load side by side: medians with their spread, and what changed. places is the width of a line, 0 that of
// a usual terminal. Different loads are an error, since their figures say nothing about each other. A metric that is 0 on both sides has no
// row.
func Compare(w io.Writer, a, b Side, places int) error {
	differ, tuned := differences(a.Runs[0], b.Runs[0])
	if len(differ) > 0 {
		return fmt.Errorf("%s and %s are different loads: %s. Measure both with the same flags; the server, the machine, %s may differ",
			a.Name, b.Name, strings.Join(differ, ", "), "--async, --handoff, --duration, --warmup and --seed")
	}
	for i, side := range []Side{a, b} {
		side.describe(w, []string{"A", "B"}[i], places)
	}
	if len(tuned) > 0 {
		fmt.Fprintln(w, Wrap("", "What differs: "+strings.Join(tuned, ", ")+".", places))
	}
	fmt.Fprintf(w, "\n  %-18s %9s %7s  %9s %7s  %8s\n", "", "A", "±", "B", "±", "change")
	for _, m := range metricsOf(a.Runs[0]) {
		before, inA := m.over(a.Runs)
		after, inB := m.over(b.Runs)
		if !inA && !inB || (!inA || quiet(before)) && (!inB || quiet(after)) {
			continue
		}
		changed := "n/a"
		if inA && inB && before.Median != 0 {
			changed = fmt.Sprintf("%+.1f%%", change(before, after))
		}
		row := fmt.Sprintf("  %-18s %s  %s  %8s  %s", m.Name, m.cell(before, inA, len(a.Runs)), m.cell(after, inB, len(b.Runs)),
			changed, m.verdict(before, after, inA && inB, len(a.Runs), len(b.Runs)))
		fmt.Fprintln(w, strings.TrimRight(row, " "))
	}
	if len(a.Runs) < 2 || len(b.Runs) < 2 {
		fmt.Fprintf(w, "\n%s\n", Wrap("", "A side of one run has no spread: a difference may be chance. Measure with --repeat 5 to see how far runs are apart.", places))
	}
	return nil
}

func (s *Side) describe(w io.Writer, label string, places int) {
	r, name := s.Runs[0], s.Name
	if r.Title != "" {
		name += " (" + r.Title + ")"
	}
	fmt.Fprintln(w, Wrap(label+"  ", fmt.Sprintf("%s, %s of %s", name, figures.Number(int64(len(s.Runs)), "run"), r.Started.Format(time.DateTime)), places))
	fmt.Fprintln(w, Wrap("   ", Describe(&r.Plan), places))
	fmt.Fprintln(w, Wrap("   ", fmt.Sprintf("%s · %s, %s %s/%s", &r.Server,
		figures.Number(int64(r.Machine.CPUs), "CPU"), r.Machine.Go, r.Machine.OS, r.Machine.Arch), places))
	for _, run := range s.Runs {
		if !run.OK {
			fmt.Fprintln(w, Wrap("   ", "NOT OK: "+strings.Join(run.Problems, "; "), places))
		}
	}
}

// tuned are the settings that two sides of a comparison may differ in: where the load runs, how the engine is set, and for how long.
var tuned = []string{"server", "machine", "async", "handoff", "duration", "warmup"}

// differences says in which settings two loads differ, but for those that differ each time, and names those that are tuned.
func differences(a, b *Result) (loads, settled []string) {
	mine, theirs := settings(a), settings(b)
	for _, name := range slices.Sorted(maps.Keys(mine)) {
		switch {
		case reflect.DeepEqual(mine[name], theirs[name]):
		case slices.Contains(tuned, name):
			settled = append(settled, name)
		default:
			loads = append(loads, fmt.Sprintf("%s %v and %v", name, mine[name], theirs[name]))
		}
	}
	return loads, settled
}

// settings are a plan, the machine and the kind of server by their names in the JSON; times are times.
func settings(r *Result) map[string]any {
	plan := map[string]any{}
	text, err := json.Marshal(r.Plan)
	if err == nil {
		err = json.Unmarshal(text, &plan)
	}
	if err != nil {
		panic(err) // a plan is made of numbers and strings
	}
	all := map[string]any{"server": r.Server.String(), "machine": r.Machine}
	for name, value := range plan {
		if inTime, isTime := strings.CutSuffix(name, "_ns"); isTime {
			name, value = inTime, time.Duration(value.(float64))
		}
		all[name] = value
	}
	delete(all, "prefix") // random in each run, as the seed is unless it was given
	delete(all, "seed")
	return all
}

// cell is a median, and how far from it the runs are.
func (m *Metric) cell(s figures.Spread, known bool, runs int) string {
	switch {
	case !known:
		return fmt.Sprintf("%9s %7s", "n/a", "")
	case runs < 2:
		return fmt.Sprintf("%9s %7s", m.unit.write(s.Median), "")
	}
	off := figures.Share(max(s.Max-s.Median, s.Median-s.Min), s.Median)
	return fmt.Sprintf("%9s %7s", m.unit.write(s.Median), figures.Shown(off, figures.Percent))
}

// change is in percent, rounded as it is written: what would be written as 0.0 is none, and better or worse of nothing.
func change(before, after figures.Spread) float64 {
	percent := math.Round(1000*(after.Median-before.Median)/before.Median) / 10
	if percent == 0 {
		return 0 // and not -0
	}
	return percent
}

// verdict says what a change means. Two sides of several runs overlap if the best run of one is as good as the worst of the other: then
// the order of the medians may be chance. With n runs on each side, two sides that do not differ lie apart by chance in 2 of C(2n, n)
// cases: in 2 of 252 for 5 runs. A side of one run has no range, so the verdict is that of the medians, and Compare warns of it.
func (m *Metric) verdict(before, after figures.Spread, known bool, runs ...int) string {
	switch {
	case !known || before.Median == after.Median || before.Median != 0 && change(before, after) == 0:
		return ""
	case slices.Min(runs) > 1 && before.Min <= after.Max && after.Min <= before.Max:
		return "overlap"
	case (after.Median > before.Median) == m.rises:
		return "better"
	default:
		return "worse"
	}
}
