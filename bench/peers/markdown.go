package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/wheellock/wheellock/internal/testkit/figures"
)

// markdown is the report for people.
func (r *report) markdown(pictures []drawn) string {
	out := &figures.Page{}
	command, _, _ := strings.Cut(r.Command, " --redis-server") // the environment names them
	fmt.Fprintf(out, "# Side by side\n\n%s.\n`%s`: medians of up to %d rounds of %g s each, contestants in turns.\n\n",
		r.Environment, command, r.Rounds, r.Seconds)
	out.WriteString(howToRead)
	switch {
	case r.ofFleets():
		out.WriteString(fleetToRead)
	case r.ofServers():
		out.WriteString(serversToRead)
	default:
		out.WriteString(peersToRead)
	}
	for _, p := range pictures {
		fmt.Fprintf(out, "\n![%s](%s)\n", p.title, p.file)
	}
	r.writeWorks(out, pictures)
	r.writeContestants(out)
	r.writeTrouble(out)
	return out.String()
}

const howToRead = `A pair is one lock and one unlock with nothing in between. All contestants get the same names, a lease of 30 s, waits of at most 30 s, a process of their own, an
empty Redis. *Redis* is its processor time per pair.
`

const serversToRead = `
Hand-overs are from just before the unlock in one process to the grant in the other. [results.json](results.json) has the spread, waits, memory and bare scripts.
`

const peersToRead = `
*wait* is from the call to the grant, of hand-overs from just before the unlock in one process to the grant in the other; callers still waiting at the end count with
what they had waited. *client* is processor time per pair, *allocs* its heap allocations, where each call has its own name that name's among them. Jain's index is 1 when all callers had the same
number of pairs, 1/n when one of n had all. *sent* is commands per hand-over. [results.json](results.json) has more.
`

func (r *report) ofFleets() bool {
	return slices.ContainsFunc(r.Summaries, func(s Summary) bool { return isFleet(s.Work) })
}

// ofServers says whether servers are compared, and not libraries.
func (r *report) ofServers() bool {
	return slices.ContainsFunc(r.Summaries, func(s Summary) bool { return s.Server != "" })
}

// column is one figure of a table.
type column struct {
	title string
	cell  func(Summary) string
}

// writeWorks writes the tables. Works with the same heading stand in one. If there is the picture of callers that do not meet, works with 2 to 16
// of them have no table.
func (r *report) writeWorks(out *figures.Page, pictures []drawn) {
	begun, inPicture := "", slices.ContainsFunc(pictures, func(p drawn) bool { return p.file == "callers.svg" })
	for _, w := range r.works {
		if inPicture && w.Hot == 0 && w.Callers > 1 && w.Callers < 64 {
			continue
		}
		for _, s := range r.Summaries {
			if s.Work == w.ID && !(r.ofServers() && strings.HasPrefix(s.Contestant, pipelineEntry.name)) && (!w.Fleet || slices.Contains(fleetTables, w.callers())) {
				r.writeRow(out, w, s, w.heading() != begun)
				begun = w.heading()
			}
		}
	}
}

// writeRow writes what a contestant made of a work, the first row of a table with its head.
func (r *report) writeRow(out *figures.Page, w work, s Summary, first bool) {
	var titles []string
	var cells []any
	for _, c := range r.columns(w) {
		cell := "void"
		if s.Rounds > 0 {
			cell = c.cell(s)
		}
		titles, cells = append(titles, c.title), append(cells, cell)
	}
	if first {
		out.Table("## "+w.heading(), figures.Right, titles...)
	}
	who := on(s.Contestant, s.Server)
	if (w.Fleet || w.Limits) && w.Kind != "" {
		who += ", " + w.Kind
	}
	out.Row(who, cells...)
}

// columns are those that say something about the work.
func (r *report) columns(w work) []column {
	waits := []column{
		{"wait p50", func(s Summary) string { return microseconds(s.WaitP50.Median) }},
		{"p99 wait", func(s Summary) string { return microseconds(s.WaitP99.Median) }},
		{"max", func(s Summary) string { return microseconds(s.Median.Wait.Max) }},
	}
	if w.Fleet {
		return fleetColumns()
	}
	if w.Load == handover && r.ofServers() {
		return waits
	}
	if w.Load == handover {
		return append(waits,
			column{"p50 × raw", func(s Summary) string { return r.timesRaw(s) }},
			column{"lost", func(s Summary) string { return fmt.Sprint(s.Median.Lost) }},
			column{"sent", func(s Summary) string { return figure(s.Median.Commands) }})
	}
	if r.ofServers() {
		return []column{
			{"pairs/s", func(s Summary) string { return thousands(s.PairsPerSecond.Median) }},
			{"× " + r.Base, func(s Summary) string { return figure(s.Ratio) }},
			{"Redis", func(s Summary) string { return microseconds(s.Median.RedisCPU) }},
		}
	}
	columns := []column{
		{"pairs/s", func(s Summary) string { return thousands(s.PairsPerSecond.Median) }},
		{"× " + r.Base, func(s Summary) string { return figure(s.Ratio) }},
	}
	columns = append(columns, waits[1])
	if w.Hot > 0 {
		columns = append(columns, waits[2], column{"Jain callers", func(s Summary) string { return figure(s.Median.JainCallers) }})
	}
	return append(columns,
		column{"client", func(s Summary) string { return microseconds(s.Median.ClientCPU) }},
		column{"Redis", func(s Summary) string { return microseconds(s.Median.RedisCPU) }},
		column{"allocs", func(s Summary) string { return figure(s.Median.Allocations) }})
}

// timesRaw compares a hand-over with the bare messages that it needs at least.
func (r *report) timesRaw(s Summary) string {
	for _, raw := range r.Summaries {
		if raw.Work == s.Work && raw.Server == s.Server && raw.Contestant == rawSequenceEntry.name && raw.WaitP50.Median > 0 {
			return figure(s.WaitP50.Median / raw.WaitP50.Median)
		}
	}
	return "-"
}

// writeContestants writes how each was set up. Fleets and servers are of contestants that results/results.md has.
func (r *report) writeContestants(out *figures.Page) {
	if r.ofServers() || r.ofFleets() {
		out.WriteString("\nHow contestants are set up is in bench/peers/results/results.md.\n")
		return
	}
	out.Table("## Contestants", figures.Left, "version", "set up", "does not do")
	for _, e := range r.entries {
		if slices.ContainsFunc(r.Summaries, func(s Summary) bool { return s.Contestant == e.name }) {
			out.Row(e.name, cmp.Or(r.Environment.Modules[e.module], "-"), e.settings, e.lacks)
		}
	}
}

// writeTrouble lists what went wrong; nothing when nothing did.
func (r *report) writeTrouble(out *figures.Page) {
	var lines []string
	for _, one := range r.Results {
		if one.Void != "" {
			lines = append(lines, fmt.Sprintf("- **VOID**: %s, %s, round %d: %s\n", one.Work, on(one.Contestant, one.Server), one.Round, one.Void))
		}
	}
	for _, s := range r.Summaries {
		if s.Median.Lost > 0 {
			lines = append(lines, fmt.Sprintf("- %s, %s: %d hand-overs did not come: the lock had been free for a second and its waiter slept; it was made to ask again\n",
				s.Work, on(s.Contestant, s.Server), s.Median.Lost))
		}
		if s.Median.Failed > 0 {
			lines = append(lines, fmt.Sprintf("- %s, %s: %d calls failed, the first with %q\n",
				s.Work, on(s.Contestant, s.Server), s.Median.Failed, s.Median.Failure))
		}
	}
	if len(lines) > 0 {
		out.WriteString("\n## What went wrong\n\n" + strings.Join(lines, ""))
	}
}

// figure writes a number with as many digits as mean something; nothing measured is a dash.
func figure(value float64) string {
	if value <= 0 {
		return "-"
	}
	return figures.Three(value)
}

// thousands writes a whole number with commas.
func thousands(value float64) string {
	if value <= 0 {
		return "-"
	}
	return figures.Grouped(int64(value + 0.5))
}
