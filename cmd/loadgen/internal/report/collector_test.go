package report

import (
	"testing"

	"github.com/wheellock/wheellock/cmd/loadgen/internal/load"
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
