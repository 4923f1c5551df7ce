package chart

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
)

// elements counts those of a drawing, and fails unless it is well-formed.
func elements(t *testing.T, drawing string) map[string]int {
	t.Helper()
	count := make(map[string]int)
	for d := xml.NewDecoder(strings.NewReader(drawing)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return count
		}
		if err != nil {
			t.Fatalf("%v in %s", err, drawing)
		}
		if e, is := token.(xml.StartElement); is {
			count[e.Name.Local]++
		}
	}
}

func TestGapsAreNotDrawn(t *testing.T) {
	c := Chart{X: Axis{To: 2}, Y: Axis{To: 10}, Lines: []Line{{"a", 1, false, []Point{{0, 0, ""}, {1, math.NaN(), ""}, {2, 10, ""}}}}}
	if drawing, want := string(c.SVG()), `d="M58.0 210.0M462.0 16.0"`; !strings.Contains(drawing, want) {
		t.Errorf("the path is not %s: %s", want, drawing)
	}
}

func TestStepsAreMarked(t *testing.T) {
	c := Chart{Title: "a < b", X: Linear(10, 0, Count), Y: Linear(3, 1, Count), Steps: []Tick{{0, "1 caller"}, {1, "2 callers"}, {5, "4 callers"}, {6, "8 callers"}}}
	drawing := string(c.SVG())
	if n := elements(t, drawing)["line"]; n != len(c.X.Ticks)+len(c.Y.Ticks)+4 {
		t.Errorf("%d lines in %s", n, drawing)
	}
	for text, want := range map[string]bool{"1 caller<": true, "2 callers": false, "4 callers": true, "8 callers": false} {
		if strings.Contains(drawing, text) != want {
			t.Errorf("%q is in the drawing: %t, want %t, since every second would cover the one before:\n%s", text, !want, want, drawing)
		}
	}
}

func TestAxes(t *testing.T) {
	for _, c := range []struct {
		most, finest float64
		last         string
		n            int
	}{{0, 0, "1", 6}, {0, 1, "1", 2}, {1, 1, "1", 2}, {2, 1, "2", 3}, {9, 1, "10", 6}, {10, 1, "10", 6}, {11, 1, "15", 4}, {204_680, 1, "250k", 6}, {1.2e6, 1, "1.5M", 4}} {
		a := Linear(c.most, c.finest, Count)
		if last := a.Ticks[len(a.Ticks)-1]; last.Text != c.last || last.Value < c.most || len(a.Ticks) != c.n {
			t.Errorf("up to %g: %v", c.most, a.Ticks)
		}
	}
	for most := 1.0; most < 200; most++ {
		seen := map[string]bool{}
		for _, tick := range Linear(most, 1, Count).Ticks {
			if seen[tick.Text] {
				t.Errorf("up to %g the axis says %q twice", most, tick.Text)
			}
			seen[tick.Text] = true
		}
	}
	a := Logarithmic(3, 4000, Micros)
	if a.From != 1 || a.To != 10_000 || len(a.Ticks) != 5 || a.Ticks[3].Text != "1 ms" {
		t.Errorf("from 3 to 4000: %+v", a)
	}
	if at := a.At(100); math.Abs(at-0.5) > 1e-9 {
		t.Errorf("100 lies at %g, want the middle", at)
	}
	if got, want := a.Scale(), "logarithmic scale from 1 µs"; got != want {
		t.Errorf("the axis says %q, want %q", got, want)
	}
	if a := Logarithmic(10, 10, Micros); a.To <= a.From {
		t.Errorf("of one value: %+v", a)
	}
	if a := Logarithmic(math.Inf(1), 0, Micros); a.From != 1 || len(a.Ticks) != 4 {
		t.Errorf("of no value: %+v", a)
	}
	for us, want := range map[float64]string{0.1: "100 ns", 1: "1 µs", 100: "100 µs", 1e4: "10 ms", 1e6: "1 s"} {
		if got := Micros(us); got != want {
			t.Errorf("Micros(%g) = %q, want %q", us, got, want)
		}
	}
}
