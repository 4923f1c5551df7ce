package chart

import (
	"strconv"
	"strings"
	"testing"
)

func TestBars(t *testing.T) {
	b := Bars{
		Title: "Pairs per second", Notes: []string{"more is better"}, Axis: Linear(220, 1, Count),
		Bars: []Bar{{"ours", 200, 190, 220, "200", true}, {"a long name, with more", 10, 10, 10, "10", false}},
	}
	drawn := func() string {
		var out strings.Builder
		if err := b.Write(&out); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	picture := drawn()
	if n := elements(t, picture); n["rect"] != 3 || n["circle"] != 0 {
		t.Errorf("a card and two bars are wanted, and no dot: %v", n)
	}
	b.Axis = Logarithmic(10, 220, Count)
	picture = drawn()
	if n := elements(t, picture); n["rect"] != 1 || n["circle"] != 2 || !strings.Contains(picture, ">logarithmic scale from 10<") {
		t.Errorf("a card and two dots are wanted, and what the axis is: %v", n)
	}
}

// No text leaves the picture, or reaches the bars, in the widest font.
func TestTextsHaveRoom(t *testing.T) {
	b := Bars{
		Title: "Pairs per second", Axis: Linear(220, 1, Count),
		Bars: []Bar{{"ours", 200, 190, 250, "200 of them", true}, {"a long name, with more", 10, 10, 10, "10", false}},
	}
	for _, text := range b.Texts() {
		x, err := strconv.ParseFloat(text.X, 64)
		if err != nil {
			t.Fatal(err)
		}
		long := textWidth(text.Text, textSize)
		from, to := x, x+long
		if text.Anchor == "end" {
			from, to = x-long, x
		}
		if text.Anchor != "middle" && (from < inset-0.1 || to > width-inset+0.1 || text.Anchor == "end" && to > b.from()) {
			t.Errorf("%q lies from %g to %g; the bars begin at %g", text.Text, from, to, b.from())
		}
	}
}
