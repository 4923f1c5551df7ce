// Package chart draws as SVG: lines for the page of loadgen, and lines and bars for the pictures of bench/peers. There is no script and no font: the
// style sheet (style.css) names the fonts that systems have and the colours, for light and dark; room for texts is reckoned for wide fonts.
//
// A drawing takes three steps:
//
//  1. The caller takes values out of its results and chooses an Axis for them.
//  2. The Axis maps a value to its share of the axis, from 0 to 1, and has the ticks (axis.go).
//  3. A Chart (here) or Bars (bars.go) map these shares to units and write them down (drawing.go). As a file a Chart has its title and legend
//     with it (picture.go).
package chart

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"slices"
	"strings"
)

// The places of a chart, in its own units: about pixels on a phone.
const (
	width, height            = 480.0, 250.0
	left, right, top, bottom = 58.0, 18.0, 16.0, 40.0
	narrowText               = 15.0 // the size of texts on a narrow screen, where they are larger in these units
)

// fewPoints is up to how many points each has a mark that tells its value. More marks would cover each other, and a run of a day has
// 86,400 points in each line.
const fewPoints = 150

// Chart is a drawing with lines.
type Chart struct {
	Title, Note, XLabel string
	X, Y                Axis
	Lines               []Line
	Steps               []Tick // where along x the load changed, and to what
	Dots                bool   // points are seen without a mouse: there is nothing between them
}

// Line is one of its lines. A point whose value is not a number is a gap.
type Line struct {
	Name   string
	Colour int // 1 to 5
	Faint  bool
	Points []Point
}

// Point is a point of a line.
type Point struct {
	X, Y float64
	Text string // what it says of itself, when the mouse is over it
}

// Caption is what is below the title, with what the y axis says of itself.
func (c Chart) Caption() string { return also(c.Note, "; ", c.Y.Scale()) }

// HasPoints reports whether there is anything to draw.
func (c Chart) HasPoints() bool {
	least, most := span(c.Lines)
	return least <= most
}

// CountOver is the y axis for lines of what is counted, and LogarithmicOver for lines whose values differ by factors.
func CountOver(lines []Line) Axis {
	_, most := span(lines)
	return Linear(most, 1, Count)
}

// LogarithmicOver see CountOver.
func LogarithmicOver(lines []Line, write func(float64) string) Axis {
	least, most := span(lines)
	return Logarithmic(least, most, write)
}

func span(lines []Line) (least, most float64) {
	least, most = math.Inf(1), math.Inf(-1)
	for _, l := range lines {
		for _, p := range l.Points {
			if !math.IsNaN(p.Y) {
				least, most = min(least, p.Y), max(most, p.Y)
			}
		}
	}
	return least, most
}

// Legend has the lines whose names are to be told, each name once.
func (c Chart) Legend() []Line {
	return slices.CompactFunc(slices.Clone(c.Lines), func(a, b Line) bool { return a.Name == b.Name })
}

// SVG is the drawing for a page that has Style, without title and legend: these are the page's.
func (c Chart) SVG() template.HTML {
	d := &drawing{}
	fmt.Fprintf(d, `<svg viewBox="0 0 %g %g" role="img" aria-label="%s">`, width, height, html.EscapeString(c.Title+", "+c.Caption()))
	for _, t := range c.Y.Ticks {
		d.line("grid", left, c.py(t.Value), width-right, c.py(t.Value))
		d.text("", "end", left-6, c.py(t.Value)+4, t.Text)
	}
	for _, t := range apart(c.X.Ticks, c.px, narrowText, 0.5) {
		d.line("grid", c.px(t.Value), top, c.px(t.Value), height-bottom)
		d.text("", "middle", c.px(t.Value), height-bottom+16, t.Text)
	}
	for _, t := range apart(c.Steps, c.px, narrowText, 0) {
		d.line("step", c.px(t.Value), top, c.px(t.Value), height-bottom)
		d.text("", "start", c.px(t.Value), top-5, t.Text)
	}
	d.text("", "middle", (left+width-right)/2, height-6, also(c.XLabel, ", ", c.X.Scale()))
	for i := range c.Lines {
		c.draw(d, &c.Lines[i])
	}
	d.WriteString("</svg>")
	return template.HTML(d.String())
}

// px and py are where values lie in the drawing. In SVG y grows downwards, so py counts from the lower edge.
func (c *Chart) px(x float64) float64 { return left + c.X.At(x)*(width-left-right) }
func (c *Chart) py(y float64) float64 { return height - bottom - c.Y.At(y)*(height-top-bottom) }

// draw writes a line, and its points if they are few.
func (c *Chart) draw(d *drawing, l *Line) {
	var path, dots drawing
	line, dot := fmt.Sprintf("c%d", l.Colour), fmt.Sprintf("c%d", l.Colour)
	if l.Faint {
		line += " faint"
	} else if c.Dots {
		dot += " shown"
	}
	pen := "M"
	for _, p := range l.Points {
		if math.IsNaN(p.Y) {
			pen = "M"
			continue
		}
		fmt.Fprintf(&path, "%s%.1f %.1f", pen, c.px(p.X), c.py(p.Y))
		pen = "L"
		dots.dot("dot "+dot, c.px(p.X), c.py(p.Y), 4, l.Name+": "+p.Text)
	}
	fmt.Fprintf(d, "<path class=\"line %s\" d=\"%s\"/>\n", line, path.String())
	if len(l.Points) <= fewPoints {
		d.WriteString(dots.String())
	}
}

func also(text, between, more string) string {
	return strings.TrimSuffix(text+between+more, between)
}
