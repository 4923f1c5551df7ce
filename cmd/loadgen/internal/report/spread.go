package report

import (
	"fmt"
	"io"

	"github.com/wheellock/wheellock/internal/testkit/figures"
)

// over is the spread of a metric over runs. It is not known unless each run knows the metric.
func (m *Metric) over(runs []*Result) (s figures.Spread, known bool) {
	var values []float64
	for _, r := range runs {
		value := m.of(r)
		if value == nil {
			return s, false
		}
		values = append(values, *value)
	}
	return figures.SpreadOf(values), len(values) > 0
}

// quiet reports whether a metric was 0 in all runs, and so says nothing that needs a line.
func quiet(s figures.Spread) bool { return s.Min == 0 && s.Max == 0 }

// SpreadTable writes how far the runs of one load are apart.
func SpreadTable(w io.Writer, runs []*Result) {
	fmt.Fprintf(w, "  %-18s %11s %11s %11s %9s\n", fmt.Sprintf("%d runs", len(runs)), "median", "least", "most", "spread")
	for _, f := range Figures(runs) {
		fmt.Fprintf(w, "  %-18s %11s %11s %11s %9s\n", f.Name, f.Median, f.Least, f.Most, f.Spread)
	}
}

// Short writes one of several runs in a few words.
func (r *Result) Short(w io.Writer, run, places int) {
	text := figures.Shown(r.PairsPerSecond, figures.Three) + " pairs/s"
	if l := r.Latency.Acquire; l != nil {
		text += fmt.Sprintf(", acquire p50 %s, p99 %s", figures.Micros(l.P50), figures.Micros(l.P99))
	}
	if headline := r.Headline(); headline != "" {
		text = headline + "; " + text
	}
	if r.EndedEarly {
		text += ", ended early"
	}
	for _, problem := range r.Problems {
		text += "; " + problem
	}
	fmt.Fprintln(w, Wrap(fmt.Sprintf("  run %-11d ", run), text, places))
}

// Figure is a metric over several runs, written for people.
type Figure struct{ Name, Per, Median, Least, Most, Spread string }

// Figures are all metrics that say something of these runs.
func Figures(runs []*Result) (all []Figure) {
	for _, m := range metricsOf(runs[0]) {
		if s, known := m.over(runs); known && !quiet(s) {
			write := m.unit.write
			all = append(all, Figure{m.Name, m.per, write(s.Median), write(s.Min), write(s.Max), figures.Shown(figures.Share(s.Max-s.Min, s.Median), figures.Percent)})
		}
	}
	return all
}
