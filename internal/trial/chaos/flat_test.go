package chaos

import (
	"math"
	"testing"
)

// The judge sees growth and nothing else.
func TestFlat(t *testing.T) {
	const values = 360
	m := measure{name: "goroutines", share: 0.1, slack: 10}
	for _, c := range []struct {
		name string
		at   func(n float64) float64 // of 0 to 1
		grew bool
	}{
		{"constant", func(float64) float64 { return 100 }, false},
		{"a leak of a third", func(n float64) float64 { return 100 + 50*n }, true}, // from 119 to 144
		{"growth within what is allowed", func(n float64) float64 { return 100 + 20*n }, false},
		{"growth while warming up", func(n float64) float64 { return 100 * min(1, 4*n) }, false},
		{"growth from nothing", func(n float64) float64 { return 100 * n }, true},
		{"a leak that starts late", func(n float64) float64 { return 100 + 400*max(0, n-0.7) }, true},
		{"falling", func(n float64) float64 { return 100 - 50*n }, false},
		{"up and down", func(n float64) float64 { return 100 + 50*math.Sin(100*n) }, false},
		{"up and down, and up", func(n float64) float64 { return 100 + 50*math.Sin(100*n) + 100*n }, true},
		{"single values in the end", func(n float64) float64 {
			if int(n*values)%3 == 0 && n > 0.7 {
				return 1000
			}
			return 100
		}, false},
	} {
		series := make([]float64, values)
		for i := range series {
			series[i] = c.at(float64(i) / values)
		}
		if got := m.judge(series); got.Grew != c.grew {
			t.Errorf("%s: %+v, want grew: %t", c.name, got, c.grew)
		}
	}
	if got := m.judge(make([]float64, fewest-1)); !got.Grew {
		t.Errorf("too few values: %+v", got)
	}
}
