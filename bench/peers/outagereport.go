package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/wheellock/wheellock/internal/testkit/chart"
	"github.com/wheellock/wheellock/internal/testkit/figures"
)

// outageReport is everything there is to say about libraries in outages; its JSON is results.json.
type outageReport struct {
	Environment environment    `json:"environment"`
	Command     string         `json:"command"`
	Turns       []outageResult `json:"turns"`
	entries     []entry
}

// write puts the tables on the screen, and with the JSON and the picture into the folder.
func (r *outageReport) write(screen io.Writer, folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for name, text := range map[string]string{"outage.svg": r.picture(), "results.md": r.markdown()} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	if _, err := io.WriteString(screen, r.markdown()); err != nil {
		return err
	}
	return figures.SaveJSON(filepath.Join(folder, "results.json"), r)
}

func (r *outageReport) markdown() string {
	out := &figures.Page{}
	fmt.Fprintf(out, "# Outages\n\n%s.\n`%s`: one turn of each library in each outage.\n\n", r.Environment, r.Command)
	fmt.Fprintf(out, `A net/http handler works for %v under the lock of the request's key. %d requests a second come, when they are due and whatever became of
those before, for any of %d keys. A request has a budget of %v, of which %v are for the lock; giving the lock back may delay the answer by %v. Times are from when a request
was due to its answer. *late*: answered or refused, but over the budget. *hung*: abandoned by the client after %v. Parts and seconds go by when requests were due.
`, guardWork, outageRate, outageKeys, guardBudget, guardWait, guardUnlock, outageBound)
	fmt.Fprintf(out, "\n![%s](outage.svg)\n\n## In short\n\n%s\n%s", outageTitle, outageToRead, r.table())
	for _, o := range outages {
		r.writeParts(out, o)
	}
	out.Table("## Settings", figures.Left, "version", "set up")
	for _, e := range r.entries {
		if e.guard != nil {
			version := r.Environment.Modules[e.module]
			if version == "" {
				version = "-"
			}
			out.Row(e.name, version, e.guarded)
		}
	}
	for _, t := range r.Turns {
		r.writeSeconds(out, t)
	}
	return out.String()
}

const (
	outageTitle  = "An outage of Redis, seen by the requests that need a lock"
	outageToRead = `*longest*: of the requests of the whole outage; *from 1 s on*: of those that were due a second or more after its begin; *in time after*: how many of
the requests that were due in the first second after its end were served within the budget.
`
)

// table has what decides.
func (r *outageReport) table() string {
	out := &figures.Page{}
	var columns []string
	for _, o := range outages {
		columns = append(columns, o.ID+": longest", "from 1 s on", "in time after")
	}
	out.Table("", figures.Right, columns...)
	for _, e := range r.entries {
		var cells []any
		for _, o := range outages {
			for _, t := range r.Turns {
				switch {
				case t.Outage != o.ID || t.Contestant != e.name:
				case t.Void != "":
					cells = append(cells, "void", "void", "void")
				default:
					cells = append(cells, t.Whole.longest(), t.FromOne.longest(), t.First.share())
				}
			}
		}
		if len(cells) == len(columns) {
			out.Row(e.name, cells...)
		}
	}
	return strings.TrimLeft(out.String(), "\n")
}

// excerpt is for README.md and docs/BENCHMARKS.md: it begins with a line of its own.
func (r *outageReport) excerpt() string {
	return fmt.Sprintf("%s%s:\n\n%s", excerptBegins, r.Environment, r.table())
}

const excerptBegins = "One run of `make bench-outage`, "

func (t tally) longest() string {
	if t.Hung > 0 {
		return fmt.Sprintf("%d hung", t.Hung)
	}
	return microseconds(t.Longest)
}

// share is how many were served in time.
func (t tally) share() string {
	if t.Sent == 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f %%", 100*float64(t.InTime)/float64(t.Sent))
}

var tallyColumns = []string{"requests", "answered", "in time", "refused", "late", "hung", "p50", "p99", "longest"}

func (t tally) cells() []any {
	return []any{t.Sent, t.Answered, t.InTime, t.Refused, t.Late, t.Hung, microseconds(t.P50), microseconds(t.P99), microseconds(t.Longest)}
}

// writeParts writes the parts of an outage, and what makes its figures doubtful.
func (r *outageReport) writeParts(out *figures.Page, o outage) {
	out.Table(fmt.Sprintf("## %s: %s", o.ID, o.Title), figures.Right, tallyColumns...)
	var notes []string
	for _, t := range r.Turns {
		if t.Outage != o.ID {
			continue
		}
		if t.Void != "" {
			notes = append(notes, fmt.Sprintf("- **VOID**: %s: %s\n", t.Contestant, t.Void))
			continue
		}
		out.Row(t.Contestant+", outage", t.Whole.cells()...)
		out.Row("... from 1 s on", t.FromOne.cells()...)
		if t.Known.Sent > 0 {
			out.Row("... that came when the library had said that Redis is down", t.Known.cells()...)
		}
		out.Row("... first second after", t.First.cells()...)
		out.Row("... later", t.Later.cells()...)
		notes = append(notes, fmt.Sprintf("- %s: the outage lasted %.2f s; a request was sent %s too late at most\n", t.Contestant, t.End-t.Begin, microseconds(t.Behind)))
		if hung := t.Whole.Hung + t.First.Hung + t.Later.Hung; hung > 0 {
			notes = append(notes, fmt.Sprintf("- **%s hung**: %d requests had no answer after %v and were abandoned\n", t.Contestant, hung, outageBound))
		}
	}
	out.WriteString("\n" + strings.Join(notes, ""))
}

func (r *outageReport) writeSeconds(out *figures.Page, t outageResult) {
	if t.Void != "" {
		return
	}
	out.Table(fmt.Sprintf("## %s, %s: each second", t.Outage, t.Contestant), figures.Right, tallyColumns...)
	for at, second := range t.Seconds {
		name := fmt.Sprint(at)
		if float64(at) < t.End && float64(at+1) > t.Begin {
			name += ", outage"
		}
		out.Row(name, second.cells()...)
	}
}

// picture has a row for each outage: the longest request of each second, and how many of its requests were served in time.
func (r *outageReport) picture() string {
	var all []chart.Chart
	var longest []chart.Line
	for _, o := range outages {
		times := r.chart(o, "longest request of each second", func(t tally) (float64, string) { return t.Longest, t.longest() })
		shares := r.chart(o, "served in time, of each second's requests", func(t tally) (float64, string) {
			return 100 * float64(t.InTime) / float64(t.Sent), t.share()
		})
		shares.Y = chart.Linear(100, 1, func(v float64) string { return fmt.Sprintf("%.0f %%", v) })
		all, longest = append(all, times, shares), append(longest, times.Lines...)
	}
	for i := 0; i < len(all); i += 2 {
		all[i].Y = chart.LogarithmicOver(longest, chart.Micros) // the same for all
	}
	notes := fmt.Sprintf("%d requests a second need one of %d locks for %v, and have a budget of %v. Less is better at the left, more at the right.",
		outageRate, outageKeys, guardWork, guardBudget)
	return chart.Grid(outageTitle, notes, 2, all)
}

// chart has a line for each library in an outage, whose begin and earliest end are marked.
func (r *outageReport) chart(o outage, what string, of func(tally) (float64, string)) chart.Chart {
	c := chart.Chart{Title: o.ID + ": " + what, XLabel: "seconds"}
	begin, end, seconds := math.Inf(1), math.Inf(1), 0
	for _, t := range r.Turns {
		i := slices.IndexFunc(r.entries, func(e entry) bool { return e.name == t.Contestant })
		if t.Outage != o.ID || t.Void != "" || i < 0 {
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
	c.X = chart.Linear(float64(max(seconds, 1)), 1, chart.Count)
	c.X.To = float64(max(seconds, 1))
	if len(c.Lines) > 0 {
		c.Steps = []chart.Tick{{Value: begin, Text: o.began}, {Value: end, Text: o.ended}}
	}
	return c
}
