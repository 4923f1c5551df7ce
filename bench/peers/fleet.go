package main

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/wheellock/wheellock/internal/testkit/chart"
)

// A fleet is processes that want one name, with one caller each. From fleetInOne callers on they are in one process, with a contestant and so
// with connections of its own each.
var (
	fleetCallers = []int{2, 8, 32, 64, 128, 256}
	fleetKinds   = []string{"", fenced, fair, write, semaphore, permit, quorum}
	fleetTables  = []int{2, 32} // the sizes that have one
	fleetInside  = []time.Duration{5 * time.Millisecond, 0}
)

const (
	fleetInOne = 64
	fleetDrawn = 5 * time.Millisecond // inside, in the picture
	plain      = "mutex"              // in the names of works: the kind that is empty
)

// fleets are the works of fleets. Those of one size and section, of all kinds, stand together.
func fleets() (works []work) {
	for _, inside := range fleetInside {
		doing, suffix := "nothing inside", ""
		if inside > 0 {
			doing, suffix = fmt.Sprintf("%d ms inside", inside.Milliseconds()), fmt.Sprintf("-%v", inside)
		}
		for _, n := range fleetCallers {
			w := work{Fleet: true, Hot: 1, Inside: inside, Processes: n, Callers: 1, Title: fmt.Sprintf("one name, %d processes with one caller each, %s", n, doing)}
			if n >= fleetInOne {
				w.Processes, w.Callers = 1, n
				w.Title = fmt.Sprintf("one name, %d clients in one process with connections of their own and one caller each, %s", n, doing)
			}
			for _, w.Kind = range fleetKinds {
				if w.Kind == quorum && w.together() { // too many connections for one process
					continue
				}
				w.ID = fmt.Sprintf("fleet-%s-%d%s", cmp.Or(w.Kind, plain), n, suffix)
				works = append(works, w)
			}
		}
	}
	return works
}

// together says whether the callers of a fleet are in one process.
func (w work) together() bool { return w.Fleet && w.Processes == 1 }

func isFleet(id string) bool {
	w, _ := workNamed(id)
	return w.Fleet
}

// heading is that of the table in which a work stands.
func (w work) heading() string {
	if w.Fleet || w.Limits {
		return w.Title
	}
	return w.ID + ": " + w.Title
}

const fleetToRead = `
*hand-overs/s* are the pairs that came after one of another caller, where each has a process or a client of its own; *commands* is all that Redis executed per
hand-over, inside scripts too. Redisson does not count hand-overs; *redislock 1ms* polls each millisecond. Jain's index is 1 when all callers had the same number of pairs, 1/n when one of n had all.
Callers that still waited at the end count in *longest wait*. [results.json](results.json) has more sizes, with scripts, messages and percentiles.
`

// perHandover relates what there was per pair to hand-overs; 0: there was none.
func (r Result) perHandover(perPair float64) float64 {
	if r.Handovers == 0 {
		return 0
	}
	return perPair / r.Handovers
}

// fleetChart is what a hand-over costs Redis, against how many processes want the name: a line for each library.
func fleetChart(entries []entry, summaries []Summary) chart.Chart {
	drawn := slices.DeleteFunc(fleets(), func(w work) bool { return w.Kind != "" || w.Inside != fleetDrawn })
	return overCallers(chart.Chart{
		Title: "Commands in Redis per hand-over", XLabel: "processes that want the lock",
		Note: fmt.Sprintf("One lock that is held for %d ms. Less is better.", fleetDrawn.Milliseconds()),
	}, drawn, func(s Summary) float64 { return s.Median.perHandover(s.Median.Executed) }, entries, summaries)
}

// overCallers has a line for each library: a figure of works against how many callers they have.
func overCallers(c chart.Chart, works []work, of func(Summary) float64, entries []entry, summaries []Summary) chart.Chart {
	c.Dots = true
	for _, e := range entries {
		line := chart.Line{Name: e.title, Colour: len(c.Lines) + 1}
		for _, w := range works {
			i := slices.IndexFunc(summaries, func(s Summary) bool { return s.Work == w.ID && s.Contestant == e.name && s.Server == "" })
			if e.title == "" || i < 0 {
				continue
			}
			if y := of(summaries[i]); y > 0 {
				line.Points = append(line.Points, chart.Point{X: float64(w.callers()), Y: y, Text: figure(y)})
			}
		}
		if len(line.Points) > 0 {
			c.Lines = append(c.Lines, line)
		}
	}
	c.X = chart.Axis{From: float64(works[0].callers()), To: float64(works[len(works)-1].callers()), Log: true}
	for _, w := range works {
		c.X.Ticks = append(c.X.Ticks, chart.Tick{Value: float64(w.callers()), Text: fmt.Sprint(w.callers())})
	}
	c.Y = chart.LogarithmicOver(c.Lines, chart.Count)
	return c
}

// fleetColumns are those of a table of fleets.
func fleetColumns() []column {
	return []column{
		{"pairs/s", func(s Summary) string { return thousands(s.PairsPerSecond.Median) }},
		{"hand-overs/s", func(s Summary) string { return thousands(s.PairsPerSecond.Median * s.Median.Handovers) }},
		{"commands", func(s Summary) string { return figure(s.Median.perHandover(s.Median.Executed)) }},
		{"Jain", func(s Summary) string { return figure(cmp.Or(s.Median.JainCallers, s.Median.JainProcesses)) }},
		{"longest wait", func(s Summary) string { return microseconds(s.Median.Wait.Max) }},
	}
}
