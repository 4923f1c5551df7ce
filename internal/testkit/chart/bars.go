package chart

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

// The measures of a picture, in pixels at its natural size.
const (
	inset      = 16.0
	titleSize  = 17.0
	textSize   = 14.0
	lineHeight = 20.0
	row        = 30.0
)

// SVG is the picture as a file.
func (b *Bars) SVG() string {
	d := &drawing{}
	y := inset + titleSize - 3
	d.text("title", "start", inset, y, b.Title)
	for _, note := range b.Notes {
		y += lineHeight
		d.text("", "start", inset, y, note)
	}
	head := y + 15
	foot := head + float64(len(b.Bars))*row
	for _, t := range apart(b.Axis.Ticks, b.px, textSize, 0.5) {
		d.line("grid", b.px(t.Value), head, b.px(t.Value), foot)
		d.text("", "middle", b.px(t.Value), foot+18, t.Text)
	}
	for i := range b.Bars {
		b.draw(d, &b.Bars[i], head+(float64(i)+0.5)*row)
	}
	below := foot + 18
	if b.Axis.Log {
		below += lineHeight
		d.text("", "middle", (b.from()+b.to())/2, below, b.Axis.Scale())
	}
	return d.picture(b.Title, width, below+inset)
}

// draw writes one with its name, its value and the line from the least to the most.
func (b *Bars) draw(d *drawing, one *Bar, y float64) {
	class := "rest"
	if one.Ours {
		class = "ours"
	}
	x, end := b.px(one.Median), b.px(one.Most)
	if !b.Axis.Log {
		d.rect(class, b.from(), y-9, x-b.from(), 18)
	}
	d.line("range", b.px(one.Least), y, end, y)
	if b.Axis.Log {
		d.dot(class, x, y, 6, one.Value)
	}
	d.text("name", "end", b.from()-10, y+5, one.Name)
	d.text("name", "start", max(end+8, x+12), y+5, one.Value)
}

// from and to are where the axis begins and ends: beside the longest name, and with room for the longest value at its right.
func (b *Bars) from() float64 { return inset + b.widest(func(one Bar) string { return one.Name }) + 10 }
func (b *Bars) to() float64 {
	return width - inset - b.widest(func(one Bar) string { return one.Value }) - 12
}

func (b *Bars) px(value float64) float64 { return b.from() + b.Axis.At(value)*(b.to()-b.from()) }

func (b *Bars) widest(text func(Bar) string) (most float64) {
	for _, one := range b.Bars {
		most = max(most, textWidth(text(one), textSize))
	}
	return most
}
