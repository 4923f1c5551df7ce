package main

import (
	"cmp"
	"math"
	"slices"

	"github.com/wheellock/wheellock/internal/testkit/chart"
	"github.com/wheellock/wheellock/internal/testkit/figures"
)

// A picture says one thing: a figure of one work, for each lock library.
type picture struct {
	file   string
	title  string
	notes  []string
	work   string
	figure func(Summary) figures.Spread
	more   bool // is better
}

var pictures = []picture{
	{
		file: "distinct.svg", title: "Uncontended locks: pairs per second", more: true,
		notes: []string{"1,024 callers; each call locks and unlocks", "a name that nobody else wants. More is better."},
		work:  "distinct-1024", figure: func(s Summary) figures.Spread { return s.PairsPerSecond },
	},
	{
		file: "wait.svg", title: "One contended lock: the p99 wait",
		notes: []string{"64 callers in one process want the same name;", "99 % of them wait no longer than this. Less is better."},
		work:  "hot-64", figure: func(s Summary) figures.Spread { return s.WaitP99 },
	},
	{
		file: "handover.svg", title: "Hand-over between processes: the p50",
		notes: []string{"From just before the unlock in one process", "to the grant in another. Less is better."},
		work:  "handover", figure: func(s Summary) figures.Spread { return s.WaitP50 },
	},
}

// drawn is a picture as a file.
type drawn struct{ file, title, text string }

// drawPictures draws the pictures for which there are figures. There are none of several servers.
func drawPictures(entries []entry, summaries []Summary) (all []drawn) {
	for _, p := range pictures {
		if bars := p.bars(entries, summaries); len(bars.Bars) > 0 {
			all = append(all, drawn{p.file, p.title, bars.SVG()})
		}
	}
	for _, c := range []struct {
		file string
		chart.Chart
	}{{"fleet.svg", fleetChart(entries, summaries)}, {"callers.svg", callersChart(entries, summaries)}} {
		if slices.ContainsFunc(c.Lines, func(l chart.Line) bool { return len(l.Points) > 1 }) {
			all = append(all, drawn{c.file, c.Title, c.Picture()})
		}
	}
	return all
}

// callersChart is the throughput of callers that do not meet, against how many there are.
func callersChart(entries []entry, summaries []Summary) chart.Chart {
	return overCallers(chart.Chart{
		Title: "Uncontended locks: pairs per second", XLabel: "callers in one process", Note: "Each call has a name of its own. More is better.",
	}, distinct, func(s Summary) float64 { return s.PairsPerSecond.Median }, entries, summaries)
}

// bars are those of the libraries whose figure is known, the best first. Times differ by factors of a thousand, so their axis is
// logarithmic.
func (p picture) bars(entries []entry, summaries []Summary) chart.Bars {
	b := chart.Bars{Title: p.title, Notes: p.notes}
	write, least, most := microseconds, math.Inf(1), 0.0
	if p.more {
		write = thousands
	}
	for _, e := range entries {
		i := slices.IndexFunc(summaries, func(s Summary) bool { return s.Work == p.work && s.Contestant == e.name && s.Server == "" })
		if i < 0 || e.title == "" || p.figure(summaries[i]).Median <= 0 {
			continue
		}
		f := p.figure(summaries[i])
		least, most = min(least, f.Min), max(most, f.Max)
		b.Bars = append(b.Bars, chart.Bar{Name: e.title, Median: f.Median, Least: f.Min, Most: f.Max, Value: write(f.Median), Ours: e.name == "wheellock"})
	}
	slices.SortStableFunc(b.Bars, func(a, b chart.Bar) int { return cmp.Compare(a.Median, b.Median) })
	if b.Axis = chart.Logarithmic(least, most, chart.Micros); p.more {
		b.Axis = chart.Linear(most, 1, chart.Count)
		slices.Reverse(b.Bars)
	}
	return b
}
