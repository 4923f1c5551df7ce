package main

import (
	"image/color"
	"math"
	"path/filepath"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A picture is bars on a logarithmic scale: a group per work, a bar per contestant, a whisker from the least to the
// most of its rounds.
type picture struct {
	file   string
	title  string
	label  string
	works  func(work) bool
	figure func(Summary) Spread
	format func(float64) string
}

var pictures = []picture{
	{
		file: "pairs.svg", title: "Lock and unlock: pairs per second (more is better)", label: "pairs/s",
		works:  func(w work) bool { return w.Load != handover },
		figure: func(s Summary) Spread { return s.PairsPerSecond },
		format: thousands,
	},
	{
		file: "hot-p99.svg", title: "Contended names: p99 of the wait (less is better)", label: "wait",
		works:  func(w work) bool { return w.Hot > 0 && w.Kind == "" },
		figure: func(s Summary) Spread { return s.WaitP99 },
		format: microseconds,
	},
}

// drawPictures writes the pictures for which there are figures and answers their file names. There are none of several servers.
func drawPictures(folder string, entries []entry, summaries []Summary) (files []string, err error) {
	for _, p := range pictures {
		chart := p.chart(entries, summaries)
		if chart == nil {
			continue
		}
		if err := chart.Save(26*vg.Centimeter, 12*vg.Centimeter, filepath.Join(folder, p.file)); err != nil {
			return files, err
		}
		files = append(files, p.file)
	}
	return files, nil
}

// chart is nil when nothing of the picture was measured.
func (p picture) chart(entries []entry, summaries []Summary) *plot.Plot {
	var groups []string
	all := bars{format: p.format}
	drawn := make(map[string]bool)
	for _, w := range allWorks {
		var group []bar
		for _, e := range entries {
			i := slices.IndexFunc(summaries, func(s Summary) bool { return s.Work == w.ID && s.Contestant == e.name && s.Server == "" })
			if i < 0 || !p.works(w) || p.figure(summaries[i]).Median <= 0 {
				continue
			}
			group = append(group, bar{Spread: p.figure(summaries[i]), fill: e.color})
			drawn[e.name] = true
		}
		if len(group) == 0 {
			continue
		}
		for i := range group {
			group[i].at = float64(len(groups)) + (float64(i)-float64(len(group)-1)/2)*barWidth
		}
		groups = append(groups, w.ID)
		all.bars = append(all.bars, group...)
	}
	if len(groups) == 0 {
		return nil
	}
	chart := plot.New()
	chart.Title.Text = p.title
	chart.Y.Label.Text = p.label
	chart.Y.Scale = plot.LogScale{}
	chart.Y.Tick.Marker = plot.TickerFunc(p.ticks)
	chart.Add(&all)
	chart.NominalX(groups...)
	chart.Legend.Top = true
	chart.Legend.Padding = vg.Points(2)
	for _, e := range entries {
		if drawn[e.name] {
			chart.Legend.Add(e.name, swatch{e.color})
		}
	}
	return chart
}

// ticks labels the decades the way the bars are.
func (p picture) ticks(low, high float64) []plot.Tick {
	ticks := plot.LogTicks{Prec: -1}.Ticks(low, high)
	for i := range ticks {
		if ticks[i].Label != "" {
			ticks[i].Label = p.format(ticks[i].Value)
		}
	}
	return ticks
}

const (
	barWidth = 0.10 // on the axis, where the next group is 1 away
	legend   = 0.9  // room for the legend beside the last group
)

// bar is one contestant in one group; at is its place on the axis.
type bar struct {
	Spread
	at   float64
	fill color.Color
}

// bars draws itself into a plot. The bars of gonum start at 0, which a logarithmic scale does not have.
type bars struct {
	bars   []bar
	format func(float64) string
}

func (b *bars) Plot(canvas draw.Canvas, chart *plot.Plot) {
	x, y := chart.Transforms(&canvas)
	whisker := draw.LineStyle{Color: color.Black, Width: vg.Points(0.6)}
	label := text.Style{
		Color: color.Black, Font: font.From(plot.DefaultFont, 6), Rotation: math.Pi / 2,
		XAlign: draw.XLeft, YAlign: draw.YCenter, Handler: plot.DefaultTextHandler,
	}
	for _, one := range b.bars {
		left, right, middle := x(one.at-barWidth*0.45), x(one.at+barWidth*0.45), x(one.at)
		foot, top := y(chart.Y.Min), y(one.Median)
		canvas.FillPolygon(one.fill, []vg.Point{{X: left, Y: foot}, {X: left, Y: top}, {X: right, Y: top}, {X: right, Y: foot}})
		canvas.StrokeLine2(whisker, middle, y(one.Min), middle, y(one.Max))
		canvas.FillText(label, vg.Point{X: middle, Y: y(one.Max) + vg.Points(3)}, b.format(one.Median))
	}
}

// DataRange goes from the decade under the lowest bar to well over the highest, where its label stands.
func (b *bars) DataRange() (xmin, xmax, ymin, ymax float64) {
	ymin, ymax = math.Inf(1), 0
	for _, one := range b.bars {
		xmax = max(xmax, one.at)
		ymin, ymax = min(ymin, one.Min), max(ymax, one.Max)
	}
	return -0.5, math.Round(xmax) + 0.5 + legend, math.Pow(10, math.Floor(math.Log10(ymin/2))), ymax * 4
}

// swatch is a colour in the legend.
type swatch struct{ fill color.Color }

func (s swatch) Thumbnail(canvas *draw.Canvas) {
	from, to := canvas.Min, canvas.Max
	canvas.FillPolygon(s.fill, []vg.Point{from, {X: from.X, Y: to.Y}, to, {X: to.X, Y: from.Y}})
}
