// Package page writes results of loadgen as one page for a browser, which needs no other file and no network. page.html is its
// template; charts.go says what is drawn: seconds, callers or percentiles along x, pairs/s, callers or microseconds along y.
package page

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/wheellock/wheellock/cmd/loadgen/internal/report"
	"github.com/wheellock/wheellock/internal/load"
	"github.com/wheellock/wheellock/internal/testkit/chart"
	"github.com/wheellock/wheellock/internal/testkit/figures"
)

//go:embed page.html
var text string

var layout = template.Must(template.New("page").Funcs(template.FuncMap{"style": func() template.CSS { return chart.Style }}).Parse(text))

// content is what the template shows.
type content struct {
	Title    string
	Load     string // what was asked for; empty: that is the title
	Started  string
	Server   string
	Machine  string
	OK       bool
	Headline string // of the first run that was saturated; else of the first
	Warns    bool   // it is saturated
	Best     string // what the tiles are of; empty: all
	Problems []string
	Notes    []string // what is right, or worth knowing
	Tiles    []tile
	Charts   []chart.Chart
	Figures  []report.Figure
	Several  bool // runs
	Settings []pair
	Proof    []pair
	Errors   []pair
}

// tile is one of the few figures that are seen first.
type tile struct{ Name, Value, Unit, Range string }

type pair struct{ Name, Value string }

// Write writes the page of the runs of one load; there is at least one.
func Write(w io.Writer, runs []*report.Result) error {
	first := runs[0]
	c := content{
		Title: first.Title, Load: report.Describe(&first.Plan), Started: first.Started.Format(time.DateTime) + " UTC", Server: first.Server.Meaning,
		Machine: fmt.Sprintf("%s, %s, %s/%s", figures.Number(int64(first.Machine.CPUs), "CPU"), first.Machine.Go, first.Machine.OS, first.Machine.Arch),
		OK:      true, Several: len(runs) > 1, Charts: charts(runs), Settings: settings(first),
	}
	if c.Title == "" {
		c.Title, c.Load = c.Load, ""
	}
	for i, r := range runs {
		c.OK = c.OK && r.OK
		if i == 0 || r.Saturated() && !c.Warns {
			c.Headline, c.Warns = r.Headline(), r.Saturated()
		}
		whose := ""
		if c.Several {
			whose = fmt.Sprintf("run %d: ", i+1)
		}
		for _, problem := range r.Problems {
			c.Problems = append(c.Problems, whose+problem)
		}
		if r.EndedEarly {
			c.Notes = append(c.Notes, whose+"ended early")
		}
		for text, n := range r.Calls.Errors {
			c.Errors = append(c.Errors, pair{whose + text, figures.Grouped(n)})
		}
	}
	if c.Several {
		c.Notes = append(c.Notes, fmt.Sprintf("%d runs: figures are medians, with the least and the most; in the drawings the first run is strong and the others are faint", len(runs)))
	}
	slices.SortFunc(c.Errors, func(a, b pair) int { return strings.Compare(a.Name, b.Name) })
	c.figures(runs)
	c.prove(runs)
	return layout.Execute(w, c)
}

// tiles are the metrics that are seen first.
var tiles = []struct{ metric, name string }{
	{"throughput", "Throughput"}, {"acquire.p50", "Acquire, median"}, {"acquire.p99", "Acquire, p99"}, {"acquire.p99.9", "Acquire, p99.9"},
	{"throughput.readers", "Readers"}, {"readers.p50", "Readers, median"}, {"readers.p99", "Readers, p99"},
	{"throughput.writers", "Writers"}, {"writers.p50", "Writers, median"}, {"writers.p99", "Writers, p99"},
	{"handover.p50", "Hand-over, median"}, {"redis.cpu", "Redis CPU"},
}

// figures fills tiles and table. The tiles of a load that grows are of its best step: a mean of all would be that of none.
func (c *content) figures(runs []*report.Result) {
	of := ""
	if best := runs[0].Best(); best != nil {
		c.Best, of = "The best of "+figures.Number(int64(len(runs[0].Steps)), "step")+": "+best.Words(), best.Name()+": "
	}
	c.Figures = report.Figures(runs)
	for _, f := range c.Figures {
		for _, t := range tiles {
			mixed := runs[0].Plan.Kind == load.RW && of == "" && strings.HasPrefix(f.Name, "acquire.") // of readers and writers
			if of+t.metric != f.Name || mixed {
				continue
			}
			shown := tile{Name: t.name, Value: f.Median, Unit: f.Per}
			if c.Several {
				shown.Range = f.Least + " to " + f.Most
			}
			c.Tiles = append(c.Tiles, shown)
		}
	}
}

// prove says what was checked, in all runs together.
func (c *content) prove(runs []*report.Result) {
	var k report.Checks
	var pairs int64
	for _, r := range runs {
		pairs += r.Pairs
		figures.Add(&k, &r.Checks)
		k.KeysLeft = append(k.KeysLeft, r.Checks.KeysLeft...)
		k.Stranded = append(k.Stranded, r.Checks.Stranded...)
		k.PermitsWrong = append(k.PermitsWrong, r.Checks.PermitsWrong...)
	}
	plan := &runs[0].Plan
	c.Proof = []pair{
		{"Pairs of lock and unlock", figures.Grouped(pairs)},
		{"Critical sections checked in memory", figures.Grouped(k.Sections)},
		{"of these, also counted in Redis", figures.Grouped(k.InRedis)},
		{"of these, without a verdict (answer lost, or lease over)", figures.Grouped(k.NoVerdict)},
		{"Violations found in memory", figures.Grouped(k.Violations)},
		{"Violations found in Redis", figures.Grouped(k.SeenInRedis)},
	}
	add := func(when bool, name string, n int64) {
		if when {
			c.Proof = append(c.Proof, pair{name, figures.Grouped(n)})
		}
	}
	add(plan.Kind == load.Fenced, "Fencing tokens that went back", k.TokensBack)
	add(plan.Kind == load.Fair, "Given long out of turn", k.Disordered)
	add(plan.Kind == load.Latch, "Passed before the latch was opened", k.Early)
	add(plan.Kind.HasPermits(), "Names whose permits are not all back", int64(len(k.PermitsWrong)))
	add(true, "Keys left behind", int64(len(k.KeysLeft)))
	add(true, "Callers left waiting for a free name", int64(len(k.Stranded)))
	add(true, "Calls that did not come back", k.Stuck)
}

// settings are those that decide how a load went.
func settings(r *report.Result) (all []pair) {
	p := &r.Plan
	add := func(when bool, name, format string, args ...any) {
		if when {
			all = append(all, pair{name, fmt.Sprintf(format, args...)})
		}
	}
	add(true, "--kind", "%s", p.Kind)
	add(p.From > 0, "--workers", "%d..%d in %d steps", p.From, p.Workers, p.Steps)
	add(p.From == 0, "--workers", "%s", figures.Grouped(int64(p.Workers)))
	add(p.Async, "--async", "yes")
	add(p.FromRate > 0, "--rate", "%s..%s calls/s in %d steps", figures.Three(p.FromRate), figures.Three(p.Rate), p.Steps)
	add(p.Rate > 0 && p.FromRate == 0, "--rate", "%s calls/s", figures.Three(p.Rate))
	add(true, "--names", "%s", figures.Grouped(int64(p.Names)))
	add(p.Zipf > 0, "--zipf", "%g", p.Zipf)
	add(p.Kind == load.RW, "--readers", "%g", p.Readers)
	add(p.Kind.HasPermits(), "--permits", "%d", p.Permits)
	add(true, "--hold", "%v", p.Hold)
	add(p.Rate == 0, "--think", "%v", p.Think)
	add(p.Lease > 0, "--lease", "%v", p.Lease)
	add(p.Lease == 0, "--lease", "renewed by the watchdog")
	add(p.Wait > 0, "--wait", "%v", p.Wait)
	add(p.Handoff > 0, "--handoff", "%v", p.Handoff)
	add(p.Handoff < 0, "--handoff", "off")
	add(true, "--processes", "%d", p.Processes)
	add(true, "--duration", "%v", p.Duration)
	add(true, "--warmup", "%v", p.Warmup)
	add(true, "--check", "%d", p.Check)
	add(true, "--seed", "%d", p.Seed)
	return all
}
