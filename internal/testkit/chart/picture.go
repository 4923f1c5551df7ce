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
	y = d.legend(c.Legend(), y+height+lineHeight, width)
	return d.picture(c.Title, width, y+inset)
}

// Grid is several drawings as one file, so many in a row, each with its title and scale above it. All have the legend of the first.
func Grid(title, note string, inARow int, all []Chart) string {
	d := &drawing{}
	wide := float64(inARow) * width
	y := inset + titleSize - 3
	d.text("title", "start", inset, y, title)
	y += lineHeight
	d.text("", "start", inset, y, note)
	for i, c := range all {
		x := float64(i%inARow) * width
		if i%inARow == 0 {
			y += lineHeight + 10
		}
		d.text("name", "start", x+inset, y, also(c.Title, "; ", c.Y.Scale()))
		fmt.Fprintf(d, `<svg x="%g" y="%g" width="%g" height="%g">%s</svg>`+"\n", x, y+6, width, height, c.SVG())
		if i%inARow == inARow-1 || i == len(all)-1 {
			y += 6 + height
		}
	}
	y = d.legend(all[0].Legend(), y+lineHeight, wide)
	return d.picture(title, wide, y+inset)
}

// legend names lines, from y on, and returns where its last row is.
func (d *drawing) legend(lines []Line, y, wide float64) float64 {
	x := inset
	for _, l := range lines {
		long := lineHeight + textWidth(l.Name, textSize)
		if x+long > wide-inset {
			x, y = inset, y+lineHeight
		}
		d.dot(fmt.Sprintf("dot shown c%d", l.Colour), x+5, y-5, 5, l.Name)
		d.text("name", "start", x+15, y, l.Name)
		x += long + 10
	}
	return y
}

// picture is what was drawn as a file, so wide and high.
func (d *drawing) picture(title string, wide, high float64) string {
	frame := fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%[1]g" height="%[2]g" viewBox="0 0 %[1]g %[2]g" role="img" class="picture" aria-label="%s">`,
		wide, high, html.EscapeString(title))
	card := &drawing{}
	card.rect("card", 0, 0, wide, high)
	return strings.Join([]string{frame, "<style>", string(Style) + "</style>", card.String() + d.String() + "</svg>", ""}, "\n")
}
