package main

import "testing"

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{9, 1, 5}, 5}, {[]float64{4, 1, 3, 2}, 2.5}} {
		if got := median(c.values); got != c.want {
			t.Errorf("median(%v) = %g, want %g", c.values, got, c.want)
		}
	}
}

func TestJain(t *testing.T) {
	for _, c := range []struct {
		name   string
		shares []float64
		want   float64
	}{{"all alike", []float64{5, 5, 5, 5}, 1}, {"one has all", []float64{8, 0, 0, 0}, 0.25}, {"nobody has any", []float64{0, 0}, 0}} {
		if got := jain(c.shares); got != c.want {
			t.Errorf("%s: %g, want %g", c.name, got, c.want)
		}
	}
}
