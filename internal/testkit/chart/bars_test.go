package chart

import (
	"encoding/xml"
	"strings"
	"testing"
)

func someBars() *Bars {
	return &Bars{
		Title: "Pairs per second", Notes: []string{"more is better"}, Axis: Linear(220, 1, Count),
		Bars: []Bar{{"ours", 200, 190, 250, "200 of them", true}, {"a long name, with more", 10, 10, 10, "10", false}},
	}
}

func TestBars(t *testing.T) {
	b := someBars()
	if n := elements(t, b.SVG()); n["rect"] != 3 || n["circle"] != 0 {
		t.Errorf("a card and two bars are wanted, and no dot: %v", n)
	}
	b.Axis = Logarithmic(10, 250, Count)
	picture := b.SVG()
	if n := elements(t, picture); n["rect"] != 1 || n["circle"] != 2 || !strings.Contains(picture, ">logarithmic scale from 10<") {
		t.Errorf("a card and two dots are wanted, and what the axis is: %v", n)
	}
}

func TestPicture(t *testing.T) {
	c := Chart{
		Title: "a < b", Note: "Less is better.", Dots: true, X: Linear(2, 1, Count), Y: Logarithmic(1, 1000, Count),
		Lines: []Line{{"ours", 1, false, []Point{{0, 1, "1"}, {2, 10, "10"}}}, {"a long name, with more", 2, false, []Point{{1, 5, "5"}}}, {"another name, as long", 3, false, nil}},
	}
	picture := c.Picture()
	if n := elements(t, picture); n["path"] != 3 || n["circle"] != 3+3 || n["style"] != 1 {
		t.Errorf("three lines, three points and three names are wanted: %v", n)
	}
	for _, want := range []string{">Less is better.<", ">logarithmic scale from 1<", ">another name, as long<"} {
		if !strings.Contains(picture, want) {
			t.Errorf("%q is not in the picture", want)
		}
	}
	textsHaveRoom(t, picture, 0)
}

// No text leaves the picture, or reaches the bars, in a wide font.
func TestTextsHaveRoom(t *testing.T) {
	b := someBars()
	textsHaveRoom(t, b.SVG(), b.from())
}

// textsHaveRoom looks at the texts of a picture, but for those of a drawing within it. Names that end beside the bars end before these begin.
func textsHaveRoom(t *testing.T, svg string, before float64) {
	t.Helper()
	var picture struct {
		Texts []struct {
			Anchor string  `xml:"text-anchor,attr"`
			X      float64 `xml:"x,attr"`
			Text   string  `xml:",chardata"`
		} `xml:"text"`
	}
	if err := xml.Unmarshal([]byte(svg), &picture); err != nil || len(picture.Texts) < 6 {
		t.Fatalf("%v, %d texts", err, len(picture.Texts))
	}
	for _, text := range picture.Texts {
		long := textWidth(text.Text, textSize)
		from := map[string]float64{"start": text.X, "middle": text.X - long/2, "end": text.X - long}[text.Anchor]
		if from < inset-0.1 || from+long > width-inset+0.1 || text.Anchor == "end" && from+long > before {
			t.Errorf("%q lies from %g to %g; the bars begin at %g", text.Text, from, from+long, before)
		}
	}
}
