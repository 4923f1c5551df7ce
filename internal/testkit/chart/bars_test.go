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

// No text leaves the picture, or reaches the bars, in a wide font.
func TestTextsHaveRoom(t *testing.T) {
	b := someBars()
	var picture struct {
		Texts []struct {
			Anchor string  `xml:"text-anchor,attr"`
			X      float64 `xml:"x,attr"`
			Text   string  `xml:",chardata"`
		} `xml:"text"`
	}
	if err := xml.Unmarshal([]byte(b.SVG()), &picture); err != nil || len(picture.Texts) < 6 {
		t.Fatalf("%v, %d texts", err, len(picture.Texts))
	}
	for _, text := range picture.Texts {
		long := textWidth(text.Text, textSize)
		from := map[string]float64{"start": text.X, "middle": text.X - long/2, "end": text.X - long}[text.Anchor]
		if from < inset-0.1 || from+long > width-inset+0.1 || text.Anchor == "end" && from+long > b.from() {
			t.Errorf("%q lies from %g to %g; the bars begin at %g", text.Text, from, from+long, b.from())
		}
	}
}
