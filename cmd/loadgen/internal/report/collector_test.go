package report

import (
	"slices"
	"testing"
	"time"

	"github.com/wheellock/wheellock/internal/load"
)

func TestCollectorWaitsForAllProcesses(t *testing.T) {
	c := NewCollector(2)
	if sums := c.Take(aSample(0, load.Measured)); len(sums) != 0 {
		t.Errorf("complete with one of two processes: %d", len(sums))
	}
	if sums := c.Take(aSample(0, load.Measured)); len(sums) != 0 {
		t.Errorf("complete with one of two processes: %d", len(sums))
	}
	sums := c.Take(aSample(1, load.Measured))
	if len(sums) != 1 || sums[0].Counts.Pairs != 2000 || sums[0].Waiting != 4 || sums[0].Elapsed.Seconds() != 1 {
		t.Fatalf("sums %+v; want one second of both", sums)
	}
	if sums := c.Gone(1); len(sums) != 1 || sums[0].Counts.Pairs != 1000 {
		t.Errorf("after the other has ended: %+v; want the second of the first", sums)
	}
	if sums := c.Take(last(0)); len(sums) != 1 || !sums[0].Last {
		t.Errorf("the last one, alone: %+v", sums)
	}
}

// The first process hears of an early end within its second second, the second one just after it.
func TestCollectorOfARunThatEndsEarly(t *testing.T) {
	c := NewCollector(2)
	late := last(1)
	late.Elapsed = time.Millisecond
	var sums []*load.Sample
	for _, s := range []*load.Sample{
		aSample(0, load.Measured), last(0), ended(0, load.Ending{}),
		aSample(1, load.Measured), aSample(1, load.Measured), late, ended(1, load.Ending{}),
	} {
		sums = append(sums, c.Take(s)...)
	}
	type interval struct {
		phase load.Phase
		pairs int64
		last  bool
	}
	var got []interval
	for _, s := range sums {
		got = append(got, interval{s.Phase, s.Counts.Pairs, s.Last})
	}
	want := []interval{{load.Measured, 2000, false}, {load.Measured, 2000, false}, {load.Measured, 1000, true}, {load.Drain, 0, true}}
	if !slices.Equal(got, want) {
		t.Errorf("intervals %v, want %v", got, want)
	}
	if c.measured.Counts.Pairs != 5000 || c.measured.Elapsed != 2*time.Second+time.Millisecond {
		t.Errorf("measured %d pairs in %v, want 5000 in 2.001s", c.measured.Counts.Pairs, c.measured.Elapsed)
	}
}

func TestCollectorCountsViolationsInEveryPhase(t *testing.T) {
	c := NewCollector(1)
	for i, phase := range []load.Phase{load.WarmUp, load.Measured, load.Drain} {
		s := aSample(0, phase)
		s.Counts.Violations, s.Counts.SeenInRedis = 1, 1
		c.Take(s)
		if got, want := c.Violations(), int64(2*(i+1)); got != want {
			t.Errorf("%d violations after %s, want %d", got, phase, want)
		}
	}
}
