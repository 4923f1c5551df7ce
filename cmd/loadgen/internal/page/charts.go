package page

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/wheellock/wheellock/cmd/loadgen/internal/report"
	"github.com/wheellock/wheellock/internal/testkit/chart"
	"github.com/wheellock/wheellock/internal/testkit/figures"
)

// charts are all charts of the runs of one load. Each run has its own lines; only the first is drawn strong. A chart without a point is
// left out.
func charts(runs []*report.Result) []chart.Chart {
	queue, title, note := over{"waiting", 4, func(s *report.Second) float64 { return float64(s.Waiting) }}, "Callers that wait", "for a lock"
	if runs[0].Plan.Rate > 0 {
		queue, title, note = over{"backlog", 4, func(s *report.Second) float64 { return float64(s.Backlog) }}, "Backlog", "calls that were due and had not begun"
	}
	all := []chart.Chart{
		counted(runs, whole, pairs, overTime(runs, "Throughput", "pairs of lock and unlock in each second")),
		latency(runs, whole, overTime(runs, "Acquire latency over time", "from the call to the lock, of each second")),
		percentiles(runs),
		counted(runs, seconds, queue, overTime(runs, title, note+", at the end of each second")), // shows whether the lock keeps up
	}
	if len(runs[0].Steps) > 0 {
		all = append(all, counted(runs, steps, pairs, bySteps(runs, "Throughput")), latency(runs, steps, bySteps(runs, "Acquire latency")))
	}
	return slices.DeleteFunc(all, func(c chart.Chart) bool { return !c.HasPoints() })
}

// over is what changes from second to second, or from step to step.
type over struct {
	name   string
	colour int                          // 1 to 5
	of     func(*report.Second) float64 // not a number: nothing was recorded
}

var pairs = over{"pairs/s", 1, func(s *report.Second) float64 { return s.PairsPerSecond }}

// latencies are in microseconds. The largest comes first: its line is the uppermost, and so its name is the first in the legend.
var latencies = []over{
	{"max", 3, func(s *report.Second) float64 { return positive(s.AcquireMax) }},
	{"p99", 2, func(s *report.Second) float64 { return positive(s.AcquireP99) }},
	{"p50", 1, func(s *report.Second) float64 { return positive(s.AcquireP50) }},
}

// positive is a value, or none where nothing was recorded: a logarithmic axis has no 0.
func positive(v *float64) float64 {
	if v == nil || *v <= 0 {
		return math.NaN()
	}
	return *v
}

// counted and latency put their lines into a chart.
func counted(runs []*report.Result, moments func(*report.Result) []moment, what over, c chart.Chart) chart.Chart {
	c.Lines = linesOf(runs, moments, []over{what}, figures.Three)
	c.Y = chart.CountOver(c.Lines)
	return c
}

func latency(runs []*report.Result, moments func(*report.Result) []moment, c chart.Chart) chart.Chart {
	c.Lines = linesOf(runs, moments, latencies, figures.Micros)
	c.Y = chart.LogarithmicOver(c.Lines, chart.Micros)
	return c
}

// moment is what was measured of a run at x, and what the tooltip calls it.
type moment struct {
	x     float64
	of    *report.Second
	where string
}

// seconds are the moments of a run in time.
func seconds(r *report.Result) (all []moment) {
	for i := range r.PerSecond {
		s := &r.PerSecond[i]
		all = append(all, moment{s.End, s, fmt.Sprintf("second %.3g", s.End)})
	}
	return all
}

// whole are the seconds of what each says of all of its time, so the first begins at 0.
func whole(r *report.Result) []moment {
	all := seconds(r)
	if len(all) > 0 {
		first := all[0]
		first.x = 0
		all = append([]moment{first}, all...)
	}
	return all
}

// steps are those of a run that grows.
func steps(r *report.Result) (all []moment) {
	for i := range r.Steps {
		s := &r.Steps[i]
		all = append(all, moment{s.Load(), &s.Second, s.Words()})
	}
	return all
}

// linesOf are the lines of all runs.
func linesOf(runs []*report.Result, moments func(*report.Result) []moment, what []over, write func(float64) string) (lines []chart.Line) {
	for _, o := range what {
		for i, r := range runs {
			l := chart.Line{Name: o.name, Colour: o.colour, Faint: i > 0}
			for _, m := range moments(r) {
				l.Points = append(l.Points, chart.Point{X: m.x, Y: o.of(m.of), Text: fmt.Sprintf("%s, %s%s", write(o.of(m.of)), m.where, runOf(runs, i))})
			}
			lines = append(lines, l)
		}
	}
	return lines
}

// overTime is a chart that has time along x, with lines where the steps of the first run begin.
func overTime(runs []*report.Result, title, note string) chart.Chart {
	longest, begin := 0.0, 0.0
	for _, r := range runs {
		longest = max(longest, r.Seconds)
	}
	// A run of 10 s is measured a little longer: 1 % less chooses the ticks of 10 s.
	x := chart.Linear(longest*0.99, 0, func(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) })
	x.To = max(longest, 1e-9) // no empty room at its end
	x.Ticks = slices.DeleteFunc(x.Ticks, func(t chart.Tick) bool { return t.Value > x.To*1.01 })
	c := chart.Chart{Title: title, Note: note, XLabel: "seconds since the measuring began", X: x}
	for i := range runs[0].Steps {
		s := &runs[0].Steps[i]
		c.Steps = append(c.Steps, chart.Tick{Value: begin, Text: s.Name()})
		begin = s.End
	}
	if len(c.Steps) > 0 {
		c.Note += "; dashed: where a step begins, of so many " + grows(runs)
	}
	return c
}

// grows is what there is more of from step to step.
func grows(runs []*report.Result) string {
	if runs[0].Plan.Rate > 0 {
		return "calls/s"
	}
	return "callers"
}

// bySteps is a chart that has the steps along x. They are at equal distances, as what grows does so by the same factor each time.
func bySteps(runs []*report.Result, title string) chart.Chart {
	steps := runs[0].Steps
	first, last := steps[0].Load(), steps[len(steps)-1].Load()
	c := chart.Chart{
		Title: title + " by step", Note: "each point is a step", XLabel: grows(runs), Dots: true,
		X: chart.Axis{From: first, To: max(last, first*1.1), Log: true},
	}
	for i := range steps {
		c.X.Ticks = append(c.X.Ticks, chart.Tick{Value: steps[i].Load(), Text: chart.Count(steps[i].Load())})
	}
	return c
}

// percentiles are the HDR curves. x is the number of nines, -log10(1 - p/100): p90 lies at 1, p99 at 2, p99.9 at 3. A curve ends where
// one call of all is slower, since beyond that it would repeat the longest. It has 20 points for each nine.
func percentiles(runs []*report.Result) chart.Chart {
	var lines []chart.Line
	nines := 2.0 // the axis reaches p99 at least
	for _, d := range []struct {
		name   string
		colour int
		of     func(*report.Latencies) *report.Latency
	}{
		{"readers", 1, func(l *report.Latencies) *report.Latency { return l.Readers }},
		{"writers", 5, func(l *report.Latencies) *report.Latency { return l.Writers }},
		{"acquire", 1, func(l *report.Latencies) *report.Latency { return l.Acquire }},
		{"hand-over", 2, func(l *report.Latencies) *report.Latency { return l.Handover }},
		{"cross-process", 3, func(l *report.Latencies) *report.Latency { return l.Across }},
		{"start lag", 4, func(l *report.Latencies) *report.Latency { return l.StartLag }},
	} {
		for i, r := range runs {
			h := d.of(&r.Latency)
			if h == nil || d.name == "acquire" && r.Latency.Readers != nil { // of a read-write lock it is a mixture
				continue
			}
			l := chart.Line{Name: d.name, Colour: d.colour, Faint: i > 0}
			deepest := math.Log10(float64(max(h.Count, 10)))
			nines = max(nines, deepest)
			for at := 0.0; at <= deepest; at += 0.05 {
				percentile := 100 * (1 - math.Pow(10, -at))
				value := float64(h.HDR.Percentile(percentile)) / float64(time.Microsecond)
				l.Points = append(l.Points, chart.Point{X: at, Y: positive(&value), Text: fmt.Sprintf("%s, p%.5g%s", figures.Micros(value), percentile, runOf(runs, i))})
			}
			lines = append(lines, l)
		}
	}
	x := chart.Axis{To: nines}
	for n := 0; float64(n) <= nines; n++ {
		text := fmt.Sprintf("%d nines", n)
		if n <= 4 {
			text = "p" + strconv.FormatFloat(100*(1-math.Pow(10, -float64(n))), 'f', max(n-2, 0), 64)
		}
		x.Ticks = append(x.Ticks, chart.Tick{Value: float64(n), Text: text})
	}
	return chart.Chart{
		Title: "Latency by percentile", Note: "so much of all took no longer", XLabel: "percentile: each nine is as wide as the one before",
		X: x, Y: chart.LogarithmicOver(lines, chart.Micros), Lines: lines,
	}
}

// runOf returns which of several runs a point belongs to.
func runOf(runs []*report.Result, i int) string {
	if len(runs) == 1 {
		return ""
	}
	return fmt.Sprintf(", run %d", i+1)
}
