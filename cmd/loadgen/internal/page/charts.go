package page

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/wheellock/wheellock/cmd/loadgen/internal/report"
	"github.com/wheellock/wheellock/internal/testkit/chart"
	"github.com/wheellock/wheellock/internal/testkit/figures"
)

// charts are all charts of the runs of one load. Each run has its own lines; only the first is drawn strong. A chart without lines is
// left out.
func charts(runs []*report.Result) []chart.Chart {
	all := []chart.Chart{throughput(runs), latency(runs), percentiles(runs), waiting(runs)}
	if len(runs[0].Steps) > 0 {
		all = append(all, throughputBySteps(runs), latencyBySteps(runs))
	}
	drawn := all[:0]
	for _, c := range all {
		if len(c.Lines) > 0 {
			drawn = append(drawn, marked(c, runs[0]))
		}
	}
	return drawn
}

// waiting shows whether the lock keeps up.
func waiting(runs []*report.Result) chart.Chart {
	c := chart.Chart{Title: "Callers that wait", Note: "for a lock, at the end of each second", XLabel: since, X: inSeconds(runs)}
	of := over{"waiting", 4, func(s *report.Second) float64 { return float64(s.Waiting) }}
	if runs[0].Plan.Rate > 0 {
		c.Title, c.Note = "Backlog", "calls that were due and had not begun, at the end of each second"
		of = over{"backlog", 4, func(s *report.Second) float64 { return float64(s.Backlog) }}
	}
	c.Lines = linesOf(runs, seconds, []over{of}, figures.Three)
	c.Y = chart.Linear(most(c.Lines), 1, chart.Count)
	return c
}

// marked shows in a chart over time where the steps of the first run begin.
func marked(c chart.Chart, r *report.Result) chart.Chart {
	if len(r.Steps) == 0 || c.XLabel != since {
		return c
	}
	begin := 0.0
	for i := range r.Steps {
		c.Steps = append(c.Steps, chart.Tick{Value: begin, Text: r.Steps[i].Name()})
		begin = r.Steps[i].End
	}
	c.Note += "; a dashed line begins a step of so many callers"
	if r.Plan.Rate > 0 {
		c.Note = strings.TrimSuffix(c.Note, "callers") + "calls"
	}
	return c
}

const since = "seconds since the measuring began"

// over is what changes from second to second, or from step to step.
type over struct {
	name   string
	colour int                          // 1 to 5
	of     func(*report.Second) float64 // not a number: nothing was recorded
}

func rate(s *report.Second) float64 { return s.PairsPerSecond }

// latencies are in microseconds. The largest comes first: its line is the uppermost, and so its name is the first in the legend.
var latencies = []over{
	{"max", 3, func(s *report.Second) float64 { return positive(s.AcquireMax) }},
	{"p99", 2, func(s *report.Second) float64 { return positive(s.AcquireP99) }},
	{"p50", 1, func(s *report.Second) float64 { return positive(s.AcquireP50) }},
}

// positive is a value, or none where nothing was recorded: a logarithmic axis has no 0.
func positive(v float64) float64 {
	if v <= 0 {
		return math.NaN()
	}
	return v
}

func throughput(runs []*report.Result) chart.Chart {
	lines := linesOf(runs, seconds, []over{{"pairs/s", 1, rate}}, func(v float64) string { return figures.Three(v) + " pairs/s" })
	return chart.Chart{
		Title: "Throughput", Note: "pairs of lock and unlock in each second", XLabel: since,
		X: inSeconds(runs), Y: chart.Linear(most(lines), 1, chart.Count), Lines: lines,
	}
}

func latency(runs []*report.Result) chart.Chart {
	lines := linesOf(runs, seconds, latencies, figures.Micros)
	return chart.Chart{
		Title: "Acquire latency over time", Note: "from the call to the lock, of each second", XLabel: since,
		X: inSeconds(runs), Y: logOver(lines), Lines: lines,
	}
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

// steps are those of a run that grows.
func steps(r *report.Result) (all []moment) {
	for i := range r.Steps {
		s := &r.Steps[i]
		all = append(all, moment{grown(s), &s.Second, step(s)})
	}
	return all
}

// grown is what grows from step to step, and step says it.
func grown(s *report.Step) float64 {
	if s.Schedule != nil {
		return s.Schedule.Asked
	}
	return float64(s.Callers)
}

func step(s *report.Step) string {
	if s.Schedule != nil {
		return figures.Three(s.Schedule.Asked) + " calls/s"
	}
	return figures.Number(int64(s.Callers), "caller")
}

// linesOf are the lines of all runs.
func linesOf(runs []*report.Result, moments func(*report.Result) []moment, what []over, write func(float64) string) (lines []chart.Line) {
	for _, o := range what {
		for i, r := range runs {
			l := chart.Line{Name: o.name, Colour: o.colour, Faint: i > 0}
			for _, m := range moments(r) {
				l.Points = append(l.Points, chart.Point{X: m.x, Y: o.of(m.of), Text: fmt.Sprintf("%s, %s%s", write(o.of(m.of)), m.where, whose(runs, i))})
			}
			lines = append(lines, l)
		}
	}
	return drawable(lines)
}

func throughputBySteps(runs []*report.Result) chart.Chart {
	lines := linesOf(runs, steps, []over{{"pairs/s", 1, rate}}, func(v float64) string { return figures.Three(v) + " pairs/s" })
	return bySteps(runs, chart.Chart{Title: "Throughput by ", Y: chart.Linear(most(lines), 1, chart.Count), Lines: lines})
}

func latencyBySteps(runs []*report.Result) chart.Chart {
	lines := linesOf(runs, steps, latencies, figures.Micros)
	return bySteps(runs, chart.Chart{Title: "Acquire latency by ", Y: logOver(lines), Lines: lines})
}

// bySteps completes a chart that has the steps along x. They are at equal distances, as what grows does so by the same factor each time.
func bySteps(runs []*report.Result, c chart.Chart) chart.Chart {
	grows := "callers"
	if c.XLabel = grows; runs[0].Plan.Rate > 0 {
		grows, c.XLabel = "rate", "calls/s asked for"
	}
	c.Title, c.Note, c.Dots = c.Title+grows, "of each step", true
	steps := runs[0].Steps
	first, last := grown(&steps[0]), grown(&steps[len(steps)-1])
	c.X = chart.Axis{From: first, To: max(last, first*1.1), Log: true}
	for i := range steps {
		c.X.Ticks = append(c.X.Ticks, chart.Tick{Value: grown(&steps[i]), Text: chart.Count(grown(&steps[i]))})
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
				l.Points = append(l.Points, chart.Point{X: at, Y: positive(value), Text: fmt.Sprintf("%s, p%.5g%s", figures.Micros(value), percentile, whose(runs, i))})
			}
			lines = append(lines, l)
		}
	}
	lines = drawable(lines)
	x := chart.Axis{To: nines}
	for n := 0; float64(n) <= nines; n++ {
		text := fmt.Sprintf("%d nines", n)
		if n <= 4 {
			text = "p" + strconv.FormatFloat(100*(1-math.Pow(10, -float64(n))), 'f', max(n-2, 0), 64)
		}
		x.Ticks = append(x.Ticks, chart.Tick{Value: float64(n), Text: text})
	}
	return chart.Chart{
		Title: "Latency by percentile", Note: "so much of all took no longer", XLabel: "percentile: each nine is as wide as the one before", X: x, Y: logOver(lines), Lines: lines,
	}
}

// whose says which of several runs a point is of.
func whose(runs []*report.Result, i int) string {
	if len(runs) == 1 {
		return ""
	}
	return fmt.Sprintf(", run %d", i+1)
}

// drawable are the lines that have something to draw.
func drawable(lines []chart.Line) (some []chart.Line) {
	for _, l := range lines {
		for _, p := range l.Points {
			if !math.IsNaN(p.Y) {
				some = append(some, l)
				break
			}
		}
	}
	return some
}

func inSeconds(runs []*report.Result) chart.Axis {
	longest := 0.0
	for _, r := range runs {
		longest = max(longest, r.Seconds)
	}
	// A run of 10 s is measured a little longer: 1 % less chooses the ticks of 10 s.
	a := chart.Linear(longest*0.99, 0, func(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) })
	a.To = max(longest, 1e-9) // no empty room at its end
	for len(a.Ticks) > 1 && a.Ticks[len(a.Ticks)-1].Value > a.To*1.01 {
		a.Ticks = a.Ticks[:len(a.Ticks)-1]
	}
	return a
}

func most(lines []chart.Line) (most float64) {
	for _, l := range lines {
		for _, p := range l.Points {
			if p.Y > most {
				most = p.Y
			}
		}
	}
	return most
}

// logOver is a logarithmic axis of microseconds for lines.
func logOver(lines []chart.Line) chart.Axis {
	least, most := math.Inf(1), 0.0
	for _, l := range lines {
		for _, p := range l.Points {
			if !math.IsNaN(p.Y) {
				least, most = min(least, p.Y), max(most, p.Y)
			}
		}
	}
	if most == 0 {
		least, most = 1, 1000
	}
	return chart.Logarithmic(least, most, chart.Micros)
}
