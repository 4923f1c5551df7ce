// Package chart draws as SVG: lines for the page of loadgen, and bars for the pictures of bench/peers. There is no script and no font: the
// style sheet names the fonts that systems have, and room for texts is reckoned for the widest of them.
//
// A drawing takes three steps:
//
//  1. The caller takes values out of its results and chooses an Axis for them.
//  2. The Axis maps a value to its share of the axis, from 0 to 1, and has the ticks (axis.go).
//  3. A Chart (here) or Bars (bars.go) map these shares to units of the drawing. Their templates call the exported methods for lines,
//     texts and points.
//
// A browser shows the <title> of a point when the mouse is over it. style.css has the colours, for light and dark.
package chart

import (
	"embed"
	"fmt"
	"html/template"
	"math"
	"strings"
)

//go:embed style.css lines.svg bars.svg
var files embed.FS

var layout = template.Must(template.ParseFS(files, "*.svg"))

// Style is the style sheet of all drawings. A page that has drawings in it needs it once.
var Style = func() template.CSS {
	text, err := files.ReadFile("style.css")
	if err != nil {
		panic(err) // it is embedded
	}
	return template.CSS(text)
}()

// The places of a chart, in its own units: about pixels on a phone.
const (
	width, height            = 480.0, 250.0
	left, right, top, bottom = 58.0, 14.0, 16.0, 40.0
)

// narrowText is the size of texts on a narrow screen, where they are larger in these units.
const narrowText = 15.0

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
	Text string // what it says of itself
}

// SVG is the drawing for a page that has Style, without title and legend: these are the page's.
func (c Chart) SVG() (template.HTML, error) {
	var out strings.Builder
	err := layout.ExecuteTemplate(&out, "lines.svg", c)
	return template.HTML(out.String()), err
}

// Caption is what is below the title, with what the y axis says of itself.
func (c Chart) Caption() string { return also(c.Note, "; ", c.Y.Scale()) }

// The rest is for the templates.

// Along is the name of the x axis, with what it says of itself.
func (c Chart) Along() string { return also(c.XLabel, ", ", c.X.Scale()) }

func also(text, between, more string) string {
	if more == "" {
		return text
	}
	return text + between + more
}

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
type Dot struct{ Class, X, Y, Text string }

// Key is an entry of the legend.
type Key struct{ Class, Name string }

func units(v float64) string { return fmt.Sprintf("%.1f", v) }

// px and py are where values lie in the drawing. In SVG y grows downwards, so py counts from the lower edge.
func (c *Chart) px(x float64) float64 { return left + c.X.At(x)*(width-left-right) }
func (c *Chart) py(y float64) float64 { return height - bottom - c.Y.At(y)*(height-top-bottom) }

// ViewBox is the room of the drawing.
func (c Chart) ViewBox() string { return fmt.Sprintf("0 0 %g %g", width, height) }

// Middle and Below are where the name of the x axis stands.
func (c Chart) Middle() string { return units((left + width - right) / 2) }

// Below see Middle.
func (c Chart) Below() string { return units(height - 6) }

// Rows are the lines of the y axis.
func (c Chart) Rows() (grid []Grid) {
	for _, t := range c.Y.Ticks {
		y := units(c.py(t.Value))
		grid = append(grid, Grid{units(left), y, units(width - right), y, units(left - 6), units(c.py(t.Value) + 4), t.Text})
	}
	return grid
}

// Columns are the lines of the x axis.
func (c Chart) Columns() []Grid {
	return c.upright(apart(c.X.Ticks, c.px, narrowText, 0.5), height-bottom+16)
}

// Changes are the lines between the steps, each with its text above.
func (c Chart) Changes() []Grid { return c.upright(apart(c.Steps, c.px, narrowText, 0), top-5) }

func (c *Chart) upright(at []Tick, textY float64) (grid []Grid) {
	for _, t := range at {
		x := units(c.px(t.Value))
		grid = append(grid, Grid{x, units(top), x, units(height - bottom), x, units(textY), t.Text})
	}
	return grid
}

// Legend names the lines, each name once.
func (c Chart) Legend() (keys []Key) {
	seen := map[string]bool{}
	for _, l := range c.Lines {
		if !seen[l.Name] {
			seen[l.Name] = true
			keys = append(keys, Key{fmt.Sprintf("c%d", l.Colour), l.Name})
		}
	}
	return keys
}

// Strokes are the lines.
func (c Chart) Strokes() (strokes []Stroke) {
	for _, l := range c.Lines {
		s := Stroke{Class: fmt.Sprintf("c%d", l.Colour)}
		dot := s.Class
		if l.Faint {
			s.Class += " faint"
		} else if c.Dots {
			dot += " shown"
		}
		var path strings.Builder
		pen := "M"
		for _, p := range l.Points {
			if math.IsNaN(p.Y) {
				pen = "M"
				continue
			}
			fmt.Fprintf(&path, "%s%.1f %.1f", pen, c.px(p.X), c.py(p.Y))
			pen = "L"
			if len(l.Points) <= fewPoints {
				s.Dots = append(s.Dots, Dot{dot, units(c.px(p.X)), units(c.py(p.Y)), l.Name + ": " + p.Text})
			}
		}
		s.Path = path.String()
		strokes = append(strokes, s)
	}
	return strokes
}
