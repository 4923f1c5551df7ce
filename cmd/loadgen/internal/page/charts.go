package page

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/wheellock/wheellock/cmd/loadgen/internal/report"
	"github.com/wheellock/wheellock/internal/testkit/figures"
)

// charts are all charts of the runs of one load. Each run has its own lines; only the first is drawn strong. A chart without lines is
// left out.
func charts(runs []*report.Result) []chart {
	all := []chart{throughput(runs), latency(runs), percentiles(runs), waiting(runs)}
	if len(runs[0].Steps) > 0 {
		all = append(all, throughputBySteps(runs), latencyBySteps(runs))
	}
	drawn := all[:0]
	for _, c := range all {
		if len(c.lines) > 0 {
			drawn = append(drawn, c)
		}
	}
	return drawn
}

// waiting shows whether the lock keeps up.
func waiting(runs []*report.Result) chart {
	c := chart{Title: "Callers that wait", Note: "for a lock, at the end of each second", XLabel: since, x: inSeconds(runs)}
	of := over{"waiting", 4, func(s *report.Second) float64 { return float64(s.Waiting) }}
	if runs[0].Plan.Rate > 0 {
		c.Title, c.Note = "Backlog", "calls that were due and had not begun, at the end of each second"
		of = over{"backlog", 4, func(s *report.Second) float64 { return float64(s.Backlog) }}
	}
	c.lines = linesOf(runs, seconds, []over{of}, figures.Three)
	c.y = linear(most(c.lines), short)
	return c
}

const since = "seconds since the measuring began"

// over is what changes from second to second, or from step to step.
type over struct {
	name   string
	colour int                          // 1 to 4
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

func throughput(runs []*report.Result) chart {
	lines := linesOf(runs, seconds, []over{{"pairs/s", 1, rate}}, func(v float64) string { return figures.Three(v) + " pairs/s" })
	return chart{
		Title: "Throughput", Note: "pairs of lock and unlock in each second", XLabel: since,
		x: inSeconds(runs), y: linear(most(lines), short), lines: lines,
	}
}

func latency(runs []*report.Result) chart {
	lines := linesOf(runs, seconds, latencies, figures.Micros)
	return chart{
		Title: "Acquire latency over time", Note: "from the call to the lock, of each second; the scale is logarithmic", XLabel: since,
		x: inSeconds(runs), y: logOver(lines), lines: lines,
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

// steps are those of a run whose callers grow.
func steps(r *report.Result) (all []moment) {
	for i := range r.Steps {
		s := &r.Steps[i]
		all = append(all, moment{float64(s.Callers), &s.Second, figures.Number(int64(s.Callers), "caller")})
	}
	return all
}

// linesOf are the lines of all runs.
func linesOf(runs []*report.Result, moments func(*report.Result) []moment, what []over, write func(float64) string) (lines []line) {
	for _, o := range what {
		for i, r := range runs {
			l := line{name: o.name, colour: o.colour, faint: i > 0}
			for _, m := range moments(r) {
				l.points = append(l.points, point{m.x, o.of(m.of), fmt.Sprintf("%s, %s%s", write(o.of(m.of)), m.where, whose(runs, i))})
			}
			lines = append(lines, l)
		}
	}
	return drawable(lines)
}

func throughputBySteps(runs []*report.Result) chart {
	lines := linesOf(runs, steps, []over{{"pairs/s", 1, rate}}, func(v float64) string { return figures.Three(v) + " pairs/s" })
	return chart{
		Title: "Throughput by callers", Note: "of each step", XLabel: "callers", x: byCallers(runs), y: linear(most(lines), short), lines: lines,
	}
}

func latencyBySteps(runs []*report.Result) chart {
	lines := linesOf(runs, steps, latencies, figures.Micros)
	return chart{
		Title: "Acquire latency by callers", Note: "of each step; the scales are logarithmic", XLabel: "callers", x: byCallers(runs), y: logOver(lines), lines: lines,
	}
}

// percentiles are the HDR curves. x is the number of nines, -log10(1 - p/100): p90 lies at 1, p99 at 2, p99.9 at 3. A curve ends where
// one call of all is slower, since beyond that it would repeat the longest. It has 20 points for each nine.
func percentiles(runs []*report.Result) chart {
	var lines []line
	nines := 2.0 // the axis reaches p99 at least
	for _, d := range []struct {
		name   string
		colour int
		of     func(*report.Latencies) *report.Latency
	}{
		{"acquire", 1, func(l *report.Latencies) *report.Latency { return l.Acquire }},
		{"hand-over", 2, func(l *report.Latencies) *report.Latency { return l.Handover }},
		{"cross-process", 3, func(l *report.Latencies) *report.Latency { return l.Across }},
		{"start lag", 4, func(l *report.Latencies) *report.Latency { return l.StartLag }},
	} {
		for i, r := range runs {
			h := d.of(&r.Latency)
			if h == nil {
				continue
			}
			l := line{name: d.name, colour: d.colour, faint: i > 0}
			deepest := math.Log10(float64(max(h.Count, 10)))
			nines = max(nines, deepest)
			for at := 0.0; at <= deepest; at += 0.05 {
				percentile := 100 * (1 - math.Pow(10, -at))
				value := float64(h.HDR.Percentile(percentile)) / float64(time.Microsecond)
				l.points = append(l.points, point{at, positive(value), fmt.Sprintf("%s, p%.5g%s", figures.Micros(value), percentile, whose(runs, i))})
			}
			lines = append(lines, l)
		}
	}
	lines = drawable(lines)
	x := axis{to: nines}
	for n := 0; float64(n) <= nines; n++ {
		text := fmt.Sprintf("%d nines", n)
		if n <= 4 {
			text = "p" + strconv.FormatFloat(100*(1-math.Pow(10, -float64(n))), 'f', max(n-2, 0), 64)
		}
		x.ticks = append(x.ticks, mark{float64(n), text})
	}
	return chart{
		Title: "Latency by percentile", Note: "so much of all took no longer; both scales are logarithmic", XLabel: "percentile", x: x, y: logOver(lines), lines: lines,
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
func drawable(lines []line) (some []line) {
	for _, l := range lines {
		for _, p := range l.points {
			if !math.IsNaN(p.y) {
				some = append(some, l)
				break
			}
		}
	}
	return some
}

func inSeconds(runs []*report.Result) axis {
	longest := 0.0
	for _, r := range runs {
		longest = max(longest, r.Seconds)
	}
	// A run of 10 s is measured a little longer: 1 % less chooses the ticks of 10 s.
	a := linear(longest*0.99, func(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) })
	a.to = max(longest, 1e-9) // no empty room at its end
	for len(a.ticks) > 1 && a.ticks[len(a.ticks)-1].value > a.to*1.01 {
		a.ticks = a.ticks[:len(a.ticks)-1]
	}
	return a
}

// byCallers has a tick for each step, unless its text would cover that of the tick before. It is logarithmic, as callers grow by the same
// factor from step to step: so the steps are at equal distances.
func byCallers(runs []*report.Result) axis {
	steps := runs[0].Steps
	a := axis{from: float64(steps[0].Callers), to: float64(max(runs[0].Plan.Workers, steps[0].Callers+1)), log: true}
	room := 0.0
	for _, s := range steps {
		if at := a.at(float64(s.Callers)); at >= room {
			a.ticks = append(a.ticks, mark{float64(s.Callers), figures.Grouped(int64(s.Callers))})
			room = at + 0.09 // for the text
		}
	}
	return a
}

func most(lines []line) (most float64) {
	for _, l := range lines {
		for _, p := range l.points {
			if p.y > most {
				most = p.y
			}
		}
	}
	return most
}

// logOver is a logarithmic axis of microseconds for lines.
func logOver(lines []line) axis {
	least, most := math.Inf(1), 0.0
	for _, l := range lines {
		for _, p := range l.points {
			if !math.IsNaN(p.y) {
				least, most = min(least, p.y), max(most, p.y)
			}
		}
	}
	if most == 0 {
		least, most = 1, 1000
	}
	return logarithmic(least, most, tick)
}

// tick writes microseconds that are a power of ten: "10 µs".
func tick(us float64) string {
	switch {
	case us < 0.999:
		return strconv.FormatFloat(us*1e3, 'g', 3, 64) + " ns"
	case us < 999:
		return strconv.FormatFloat(us, 'g', 3, 64) + " µs"
	case us < 999e3:
		return strconv.FormatFloat(us/1e3, 'g', 3, 64) + " ms"
	default:
		return strconv.FormatFloat(us/1e6, 'g', 3, 64) + " s"
	}
}

// short writes a number in a few places: "250k".
func short(v float64) string {
	switch {
	case v >= 1e6:
		return strconv.FormatFloat(v/1e6, 'g', 3, 64) + "M"
	case v >= 1e4:
		return strconv.FormatFloat(v/1e3, 'g', 4, 64) + "k"
	default:
		return figures.Grouped(int64(math.Round(v)))
	}
}
