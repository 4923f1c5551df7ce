package chart

import (
	_ "embed"
	"fmt"
	"html"
	"html/template"
	"strings"
	"unicode/utf8"
)

// Style is the style sheet of all drawings. A page that has drawings in it needs it once.
//
//go:embed style.css
var Style template.CSS

// drawing is SVG that is being written.
type drawing struct{ strings.Builder }

func (d *drawing) line(class string, x1, y1, x2, y2 float64) {
	fmt.Fprintf(d, "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", class, x1, y1, x2, y2)
}

func (d *drawing) rect(class string, x, y, width, height float64) {
	fmt.Fprintf(d, "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>\n", class, x, y, width, height)
}

func (d *drawing) dot(class string, x, y, radius float64, says string) {
	fmt.Fprintf(d, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"%g\"><title>%s</title></circle>\n", class, x, y, radius, html.EscapeString(says))
}

// text puts a text that begins, ends or has its middle at x.
func (d *drawing) text(class, anchor string, x, y float64, text string) {
	if text != "" {
		fmt.Fprintf(d, "<text class=\"%s\" text-anchor=\"%s\" x=\"%.1f\" y=\"%.1f\">%s</text>\n", class, anchor, x, y, html.EscapeString(text))
	}
}

// textWidth is how wide a text is in a wide font. Names and figures in DejaVu Sans, the widest that the style sheet names, have characters of
// 0.5 to 0.57 of the size on average.
func textWidth(text string, size float64) float64 {
	return float64(utf8.RuneCountInString(text)) * size * 0.58
}
