package chart

import (
	"fmt"
	"html"
	"strings"
)

// Picture is the drawing as a file of its own, with its title and legend.
func (c Chart) Picture() string {
	d := &drawing{}
	y := inset + titleSize - 3
	d.text("title", "start", inset, y, c.Title)
	for _, note := range []string{c.Note, c.Y.Scale()} {
		y += lineHeight
		d.text("", "start", inset, y, note)
	}
	y += 4
	fmt.Fprintf(d, `<svg y="%g" width="%g" height="%g">%s</svg>`+"\n", y, width, height, c.SVG())
	y += height + lineHeight
	x := inset
	for _, l := range c.Legend() {
		long := lineHeight + textWidth(l.Name, textSize)
		if x+long > width-inset {
			x, y = inset, y+lineHeight
		}
		d.dot(fmt.Sprintf("dot shown c%d", l.Colour), x+5, y-5, 5, l.Name)
		d.text("name", "start", x+15, y, l.Name)
		x += long + 10
	}
	return d.picture(c.Title, y+inset)
}

// picture is what was drawn as a file, so high.
func (d *drawing) picture(title string, high float64) string {
	frame := fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%[1]g" height="%[2]g" viewBox="0 0 %[1]g %[2]g" role="img" class="picture" aria-label="%s">`,
		width, high, html.EscapeString(title))
	card := &drawing{}
	card.rect("card", 0, 0, width, high)
	return strings.Join([]string{frame, "<style>", string(Style) + "</style>", card.String() + d.String() + "</svg>", ""}, "\n")
}
