package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/wheellock/wheellock/internal/testkit/chart"
	"github.com/wheellock/wheellock/internal/testkit/figures"
)

// outageReport is everything there is to say about libraries in outages; results.json is its JSON.
type outageReport struct {
	Environment environment    `json:"environment"`
	Command     string         `json:"command"`
	Turns       []outageResult `json:"turns"`
	entries     []entry
}

// write puts the tables on the screen, and with the JSON and the picture into the folder.
func (r *outageReport) write(screen io.Writer, folder string) error {
	return save(screen, folder, r.markdown(), []drawn{{"outage.svg", outageTitle, r.picture()}}, r)
}

const (
	outageTitle   = "An outage of Redis, seen by the requests that need a lock"
	excerptBegins = "One run of `make bench-outage`, "
)

func (r *outageReport) markdown() string {
	out := &figures.Page{}
	fmt.Fprintf(out, "# Outages\n\n`%s`; [results.json](results.json) has each second.\n\n", r.Command)
	fmt.Fprintf(out, `%d requests a second come to a net/http handler, which works for %d ms under one of %d locks. A request has %d ms, of which %d are for the lock;
giving it back may delay the answer by %d. Times are from when a request was due to its answer. *hung*: abandoned after %g s. *longest*: the longest
request of the outage; *from 1 s on*: of those due later than a second after its begin; *in time after*: served within the budget in the first second after
its end; *known*: Redis was said to be down.

![%s](outage.svg)

%s`, outageRate, guardWork.Milliseconds(), outageKeys, guardBudget.Milliseconds(), guardWait.Milliseconds(), guardUnlock.Milliseconds(), outageBound.Seconds(),
		outageTitle, r.excerpt())
	out.Table("## Settings", figures.Left, "version", "set up")
	for _, e := range r.entries {
		if e.guard != nil {
			out.Row(e.name, cmp.Or(r.Environment.Modules[e.module], "-"), e.guarded)
		}
	}
	for _, o := range outages {
		out.Table(fmt.Sprintf("## %s: %s", o.ID, o.Title), figures.Right, "answered", "refused", "hung", "known", "p50", "p99")
		for _, t := range r.Turns {
			if t.Outage == o.ID && t.Void == "" {
				out.Row(t.Contestant, t.Whole.Answered, t.Whole.Refused, t.Whole.Hung, t.Known.Sent, microseconds(t.Whole.P50), microseconds(t.Whole.P99))
			}
		}
	}
	for _, t := range r.Turns {
		if t.Void != "" {
			fmt.Fprintf(out, "\n**VOID**: %s, %s: %s\n", t.Contestant, t.Outage, t.Void)
		}
	}
	return out.String()
}

// excerpt is for README.md and docs/BENCHMARKS.md: a line of its own, and the table with what decides.
func (r *outageReport) excerpt() string {
	out := &figures.Page{}
	behind := 0.0
	var columns []string
	for _, o := range outages {
		columns = append(columns, o.ID+": longest", "from 1 s on", "in time after")
	}
	out.Table("", figures.Right, columns...)
	for _, e := range r.entries {
		var cells []any
		for _, t := range r.Turns { // in the order of the outages
			if t.Contestant != e.name {
				continue
			}
			behind = max(behind, t.Behind)
			if t.Void != "" {
				cells = append(cells, "void", "void", "void")
				continue
			}
			cells = append(cells, t.Whole.longest(), t.FromOne.longest(), t.First.share())
		}
		if len(cells) > 0 {
			out.Row(e.name, cells...)
		}
	}
	return fmt.Sprintf("%s%s; requests were sent %s too late at most:%s", excerptBegins, r.Environment, microseconds(behind), out.String()[1:])
}

func (t tally) longest() string {
	if t.Hung > 0 {
		return fmt.Sprintf("%d hung", t.Hung)
	}
	return microseconds(t.Longest)
}

// inTime is how many percent were served in time.
func (t tally) inTime() float64 { return 100 * float64(t.InTime) / float64(max(t.Sent, 1)) }

func (t tally) share() string { return fmt.Sprintf("%.0f %%", t.inTime()) }

// picture has a row for each outage: the longest request of each second, and how many of its requests were served in time.
func (r *outageReport) picture() string {
	var all []chart.Chart
	var longest []chart.Line
	for _, o := range outages {
		times := r.chart(o, "longest request", func(t tally) (float64, string) { return t.Longest, t.longest() })
		shares := r.chart(o, "served in time", func(t tally) (float64, string) { return t.inTime(), t.share() })
		shares.Y = chart.Linear(100, 1, func(v float64) string { return fmt.Sprintf("%.0f %%", v) })
		all, longest = append(all, times, shares), append(longest, times.Lines...)
	}
	for i := 0; i < len(all); i += 2 {
		all[i].Y = chart.LogarithmicOver(longest, func(us float64) string { // the same for all, and narrow
			if us < 1e5 {
				return chart.Micros(us)
			}
			return fmt.Sprintf("%.3g s", us/1e6)
		})
	}
	note := fmt.Sprintf("Second by second, of %d requests that need one of %d locks for %d ms within %d ms. At the left less is better, at the right more.",
		outageRate, outageKeys, guardWork.Milliseconds(), guardBudget.Milliseconds())
	return chart.Grid(outageTitle, note, 2, all)
}

// chart has a line for each library in an outage, whose begin and earliest end are marked.
func (r *outageReport) chart(o outage, what string, of func(tally) (float64, string)) chart.Chart {
	c := chart.Chart{Title: o.ID + ": " + what, XLabel: "seconds"}
	begin, end, seconds := math.Inf(1), math.Inf(1), 1
	for _, t := range r.Turns {
		i := slices.IndexFunc(r.entries, func(e entry) bool { return e.name == t.Contestant })
		if t.Outage != o.ID || t.Void != "" {
			continue
		}
		begin, end, seconds = min(begin, t.Begin), min(end, t.End), max(seconds, len(t.Seconds))
		line := chart.Line{Name: r.entries[i].title, Colour: len(c.Lines) + 1}
		for at, second := range t.Seconds {
			y, text := of(second)
			line.Points = append(line.Points, chart.Point{X: float64(at) + 0.5, Y: y, Text: text})
		}
		c.Lines = append(c.Lines, line)
	}
	if c.X = chart.Linear(float64(seconds), 1, chart.Count); len(c.Lines) > 0 {
		c.Steps = []chart.Tick{{Value: begin, Text: o.began}, {Value: end, Text: o.ended}}
	}
	return c
}
