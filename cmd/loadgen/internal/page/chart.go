package page

import (
	"fmt"
	"math"
	"strings"
)

// The places of a chart, in its own units: about pixels on a phone.
const (
	width, height            = 480.0, 250.0
	left, right, top, bottom = 58.0, 14.0, 10.0, 40.0
)

// fewPoints is up to how many points each has a mark that tells its value. More marks would cover each other, and a run of a day has
// 86,400 points in each line.
const fewPoints = 150

// chart is a drawing with lines.
type chart struct {
	Title, Note, XLabel string
	x, y                axis
	lines               []line
}

// line is one of its lines. A point whose value is not a number is a gap.
type line struct {
	name   string
	colour int // 1 to 4
	faint  bool
	points []point
}

type point struct {
	x, y float64
	text string // what it says of itself
}

// The rest is for the template.

// Grid is a line behind the drawing, with its text.
type Grid struct {
	X1, Y1, X2, Y2, TextX, TextY string
	Text                         string
}

// Stroke is a line as SVG draws it.
type Stroke struct {
	Class, Path string
	Dots        []Dot
}

// Dot is a point that tells its value.
type Dot struct{ X, Y, Text string }

// Key is an entry of the legend.
type Key struct{ Class, Name string }

func units(v float64) string { return fmt.Sprintf("%.1f", v) }

// px and py are where values lie in the drawing. In SVG y grows downwards, so py counts from the lower edge.
func (c *chart) px(x float64) float64 { return left + c.x.at(x)*(width-left-right) }
func (c *chart) py(y float64) float64 { return height - bottom - c.y.at(y)*(height-top-bottom) }

// ViewBox is the room of the drawing.
func (c chart) ViewBox() string { return fmt.Sprintf("0 0 %g %g", width, height) }

// Middle and Below are where the name of the x axis stands.
func (c chart) Middle() string { return units((left + width - right) / 2) }

// Below see Middle.
func (c chart) Below() string { return units(height - 6) }

// Rows are the lines of the y axis.
func (c chart) Rows() (grid []Grid) {
	for _, m := range c.y.ticks {
		y := units(c.py(m.value))
		grid = append(grid, Grid{units(left), y, units(width - right), y, units(left - 6), units(c.py(m.value) + 4), m.text})
	}
	return grid
}

// Columns are the lines of the x axis.
func (c chart) Columns() (grid []Grid) {
	for _, m := range c.x.ticks {
		x := units(c.px(m.value))
		grid = append(grid, Grid{x, units(top), x, units(height - bottom), x, units(height - bottom + 16), m.text})
	}
	return grid
}

// Legend names the lines, each name once.
func (c chart) Legend() (keys []Key) {
	seen := map[string]bool{}
	for _, l := range c.lines {
		if !seen[l.name] {
			seen[l.name] = true
			keys = append(keys, Key{fmt.Sprintf("c%d", l.colour), l.name})
		}
	}
	return keys
}

// Strokes are the lines.
func (c chart) Strokes() (strokes []Stroke) {
	for _, l := range c.lines {
		s := Stroke{Class: fmt.Sprintf("c%d", l.colour)}
		if l.faint {
			s.Class += " faint"
		}
		var path strings.Builder
		pen := "M"
		for _, p := range l.points {
			if math.IsNaN(p.y) {
				pen = "M"
				continue
			}
			fmt.Fprintf(&path, "%s%.1f %.1f", pen, c.px(p.x), c.py(p.y))
			pen = "L"
			if len(l.points) <= fewPoints {
				s.Dots = append(s.Dots, Dot{units(c.px(p.x)), units(c.py(p.y)), l.name + ": " + p.text})
			}
		}
		s.Path = path.String()
		strokes = append(strokes, s)
	}
	return strokes
}
