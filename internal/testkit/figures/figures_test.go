package figures

import (
	"testing"
	"time"
)

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{9, 1, 5}, 5}, {[]float64{4, 1, 3, 2}, 2.5}} {
		if got := Median(c.values); got != c.want {
			t.Errorf("median of %v is %g, want %g", c.values, got, c.want)
		}
	}
}

func TestJain(t *testing.T) {
	for _, c := range []struct {
		name   string
		shares []int64
		want   float64
	}{{"all alike", []int64{5, 5, 5, 5}, 1}, {"one has all", []int64{8, 0, 0, 0}, 0.25}, {"nobody has any", []int64{0, 0}, 0}, {"some", []int64{1, 3}, 0.8}} {
		if got := Jain(c.shares); got != c.want {
			t.Errorf("%s: %g, want %g", c.name, got, c.want)
		}
	}
}

type inner struct{ D time.Duration }

type counted struct {
	N      int64
	U      uint64
	F      float64
	Name   string
	hidden int
	inner
	In    inner
	Times Histogram
}

func TestStructsOfNumbers(t *testing.T) {
	one := counted{N: 3, U: 4, F: 0.5, Name: "one", hidden: 7, In: inner{time.Second}}
	one.Times.Record(time.Millisecond)
	two := counted{N: 1, U: 1, F: 1, Name: "two", hidden: 9, In: inner{time.Minute}}
	sum := one
	Add(&sum, &two)
	if sum.N != 4 || sum.U != 5 || sum.F != 1.5 || sum.In.D != 61*time.Second || sum.Name != "one" || sum.hidden != 7 || sum.Times.Count() != 1 {
		t.Errorf("the sum is %+v", sum)
	}
	if Subtract(&sum, &two); sum.N != 3 || sum.U != 4 || sum.F != 0.5 || sum.In.D != time.Second {
		t.Errorf("and without the second %+v", sum)
	}
	type result struct {
		Rate float64
		Runs int
		Name string
	}
	if m := Medians([]result{{1, 5, "a"}, {9, 7, "b"}, {2, 6, "c"}}); m != (result{2, 6, "a"}) {
		t.Errorf("the medians are %+v", m)
	}
}
