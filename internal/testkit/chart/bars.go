package chart

import (
	"html/template"
	"io"
)

// Bars is a picture of its own: one figure of several who did the same, one below the other, each with its name and its value. So there is
// no legend. On a logarithmic axis, which has no 0 from which a bar could begin, the figures are dots.
type Bars struct {
	Title string
	Notes []string // lines below the title
	Axis  Axis
	Bars  []Bar
}

// Bar is the figure of one.
type Bar struct {
	Name                string
	Median, Least, Most float64
	Value               string // the median for people
	Ours                bool   // drawn strong
}

// Write writes the picture as an SVG file.
func (b Bars) Write(w io.Writer) error { return layout.ExecuteTemplate(w, "bars.svg", b) }

// The measures of a picture, in pixels at its natural size.
const (
	inset      = 16.0
	titleSize  = 17.0
	textSize   = 14.0
	lineHeight = 20.0
	row        = 30.0
)

// from and to are where the axis begins and ends: beside the longest name, and with room for the longest value at its right.
func (b *Bars) from() float64 { return inset + b.widest(func(one Bar) string { return one.Name }) + 10 }
func (b *Bars) to() float64 {
	return width - inset - b.widest(func(one Bar) string { return one.Value }) - 8
}

func (b *Bars) widest(text func(Bar) string) (most float64) {
	for _, one := range b.Bars {
		most = max(most, textWidth(text(one), textSize))
	}
	return most
}

func (b *Bars) px(value float64) float64 { return b.from() + b.Axis.At(value)*(b.to()-b.from()) }

// head is how high title and notes are, with the room below them.
func (b *Bars) head() float64 { return inset + titleSize + float64(len(b.Notes))*lineHeight + 12 }

// foot is where the bars end and the texts of the axis begin.
func (b *Bars) foot() float64 { return b.head() + float64(len(b.Bars))*row }

func (b *Bars) middle(i int) float64 { return b.head() + (float64(i)+0.5)*row }

// Width see Height.
func (b Bars) Width() string { return units(width) }

// Height is that of the picture, with the ticks and, below these, what a logarithmic axis says of itself.
func (b Bars) Height() string {
	height := b.foot() + 18 + inset
	if b.Axis.Log {
		height += lineHeight
	}
	return units(height)
}

// Style is the style sheet.
func (b Bars) Style() template.CSS { return Style }

// Written is a text at its place.
type Written struct{ Class, X, Y, Anchor, Text string }

// Texts are title and notes, names and values, and what the axis is.
func (b Bars) Texts() []Written {
	y := inset + titleSize - 3
	all := []Written{{"title", units(inset), units(y), "start", b.Title}}
	for _, note := range b.Notes {
		y += lineHeight
		all = append(all, Written{"", units(inset), units(y), "start", note})
	}
	for i, one := range b.Bars {
		baseline := units(b.middle(i) + 5)
		all = append(all, Written{"name", units(b.from() - 10), baseline, "end", one.Name}, Written{"name", units(max(b.px(one.Most)+8, b.px(one.Median)+12)), baseline, "start", one.Value})
	}
	return append(all, Written{"", units((b.from() + b.to()) / 2), units(b.foot() + 18 + lineHeight), "middle", b.Axis.Scale()})
}

// Columns are the lines of the axis.
func (b Bars) Columns() (grid []Grid) {
	for _, t := range apart(b.Axis.Ticks, b.px, textSize, 0.5) {
		x := units(b.px(t.Value))
		grid = append(grid, Grid{x, units(b.head()), x, units(b.foot()), x, units(b.foot() + 18), t.Text})
	}
	return grid
}

// Row is a bar as SVG draws it.
type Row struct {
	Class, X, Y, Length         string // a dot has no length
	Middle, Least, Median, Most string
}

// Rows are the bars.
func (b Bars) Rows() (rows []Row) {
	for i, one := range b.Bars {
		r := Row{
			Class: "rest", X: units(b.from()), Y: units(b.middle(i) - 9), Middle: units(b.middle(i)),
			Least: units(b.px(one.Least)), Median: units(b.px(one.Median)), Most: units(b.px(one.Most)),
		}
		if one.Ours {
			r.Class = "ours"
		}
		if !b.Axis.Log {
			r.Length = units(b.px(one.Median) - b.from())
		}
		rows = append(rows, r)
	}
	return rows
}
