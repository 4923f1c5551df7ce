package report

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
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

// Compare writes two results side by side: medians with their spread, and what changed. places is the width of a line, 0 that of a usual
// terminal. Loads that differ are compared all the same, under a line that says in which settings: that may be what the user wants to
// know. A metric that is 0 on both sides has no row.
func Compare(w io.Writer, a, b Side, places int) {
	for i, side := range []Side{a, b} {
		side.describe(w, []string{"A", "B"}[i], places)
	}
	if differ := differences(a.Runs[0], b.Runs[0]); len(differ) > 0 {
		fmt.Fprintln(w, Wrap("", "The loads are not the same: "+strings.Join(differ, ", ")+".", places))
	}
	fmt.Fprintf(w, "\n  %-18s %9s %7s  %9s %7s  %8s\n", "", "A", "±", "B", "±", "change")
	for _, m := range metricsOf(a.Runs[0]) {
		before, inA := m.over(a.Runs)
		after, inB := m.over(b.Runs)
		if !inA && !inB || (!inA || before.quiet()) && (!inB || after.quiet()) {
			continue
		}
		row := fmt.Sprintf("  %-18s %s  %s  %8s  %s", m.Name, m.cell(before, inA, len(a.Runs)), m.cell(after, inB, len(b.Runs)),
			change(before, after, inA && inB), m.verdict(before, after, inA && inB, len(a.Runs), len(b.Runs)))
		fmt.Fprintln(w, strings.TrimRight(row, " "))
	}
	if len(a.Runs) < 2 || len(b.Runs) < 2 {
		fmt.Fprintf(w, "\n%s\n", Wrap("", "A side of one run has no spread: a difference may be chance. Measure with --repeat 5 to see how far runs are apart.", places))
	}
}

func (s *Side) describe(w io.Writer, label string, places int) {
	r := s.Runs[0]
	fmt.Fprintln(w, Wrap(label+"  ", fmt.Sprintf("%s, %s of %s", s.Name, figures.Number(int64(len(s.Runs)), "run"), r.Started.Format(time.DateTime)), places))
	fmt.Fprintln(w, Wrap("   ", Describe(&r.Plan), places))
	fmt.Fprintln(w, Wrap("   ", fmt.Sprintf("%s · %s, %s %s/%s", &r.Server,
		figures.Number(int64(r.Machine.CPUs), "CPU"), r.Machine.Go, r.Machine.OS, r.Machine.Arch), places))
	for _, run := range s.Runs {
		if !run.OK {
			fmt.Fprintln(w, Wrap("   ", "NOT OK: "+strings.Join(run.Problems, "; "), places))
		}
	}
}

// differences names the settings in which two loads differ, but for those that differ each time.
func differences(a, b *Result) (names []string) {
	mine, theirs := settings(a), settings(b)
	for _, name := range slices.Sorted(maps.Keys(mine)) {
		if !reflect.DeepEqual(mine[name], theirs[name]) {
			names = append(names, name)
		}
	}
	return names
}

// settings are a plan, the machine and the kind of server by their names in the JSON.
func settings(r *Result) map[string]any {
	all := map[string]any{"server": r.Server.String(), "machine": r.Machine}
	text, err := json.Marshal(r.Plan)
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		panic(err) // a plan is made of numbers and strings
	}
	delete(all, "prefix") // random in each run, as the seed is unless it was given
	delete(all, "seed")
	return all
}

// cell is a median, and how far from it the runs are.
func (m *Metric) cell(s Spread, known bool, runs int) string {
	switch {
	case !known:
		return fmt.Sprintf("%9s %7s", "n/a", "")
	case runs < 2:
		return fmt.Sprintf("%9s %7s", m.unit.write(s.Median), "")
	}
	off := figures.Share(max(s.Max-s.Median, s.Median-s.Min), s.Median)
	return fmt.Sprintf("%9s %7s", m.unit.write(s.Median), figures.Shown(off, figures.Percent))
}

func change(before, after Spread, known bool) string {
	if !known || before.Median == 0 {
		return "n/a"
	}
	return fmt.Sprintf("%+.1f%%", 100*(after.Median-before.Median)/before.Median)
}

// verdict says what a change means. Two sides of several runs overlap if the best run of one is as good as the worst of the other: then
// the order of the medians may be chance. With n runs on each side, two sides that do not differ lie apart by chance in 2 of C(2n, n)
// cases: in 2 of 252 for 5 runs. A side of one run has no range, so the verdict is that of the medians, and Compare warns of it.
func (m *Metric) verdict(before, after Spread, known bool, runs ...int) string {
	switch {
	case !known || before.Median == after.Median:
		return ""
	case slices.Min(runs) > 1 && before.Min <= after.Max && after.Min <= before.Max:
		return "overlap"
	case (after.Median > before.Median) == m.rises:
		return "better"
	default:
		return "worse"
	}
}
