package load

import (
	"sync"
	"testing"
	"time"
)

// Whatever is recorded while others take ends up in exactly one sample.
func TestTallyLosesNothing(t *testing.T) {
	const writers, records = 4, 5000
	tally := newTally(3, writers)
	var wg sync.WaitGroup
	for w := range writers {
		shard, c := &tally.shards[w%3], &caller{rig: &Rig{}, place: w / 3, reads: w == 0}
		wg.Go(func() {
			for range records {
				shard.entered(c, time.Microsecond, entry{countable: true, handover: time.Microsecond})
				shard.pair(c)
			}
		})
	}
	written := make(chan struct{})
	go func() { wg.Wait(); close(written) }()
	var sum Sample
	for taking := true; taking; {
		select {
		case <-written:
			taking = false
		default:
		}
		var s Sample
		tally.take(&s, false)
		sum.Add(&s, true)
	}
	var last Sample
	tally.take(&last, true)
	sum.Add(&last, true)
	const want = writers * records
	if c := sum.Counts; c.Pairs != want || c.Sections != want {
		t.Errorf("%d pairs, %d sections; want %d of each", c.Pairs, c.Sections, want)
	}
	if reads, times := sum.Counts.Reads, sum.Times.Readers.Count(); reads != records || times != records {
		t.Errorf("%d pairs and %d times of the one that reads, want %d", reads, times, records)
	}
	if n := len(last.Callers); n != writers {
		t.Errorf("pairs of %d callers, want %d", n, writers)
	}
	for i, n := range last.Callers {
		if n != records {
			t.Errorf("caller %d has %d pairs, want %d", i, n, records)
		}
	}
	if a, h := sum.Times.Acquire.Count(), sum.Times.Handover.Count(); a != want || h != want {
		t.Errorf("%d acquire times, %d hand-overs; want %d of each", a, h, want)
	}
}

func TestTallyCountsWhatItSaw(t *testing.T) {
	tally := newTally(1, 1)
	s := &tally.shards[0]
	c := &caller{rig: &Rig{plan: Plan{Processes: 2}}}
	s.entered(c, 1, entry{violated: true})
	s.entered(c, 1, entry{handover: 5, before: 2})
	s.begun(LateAfter)
	s.begun(LateAfter + 1)
	s.checked(&check{sure: true, fits: true})
	s.checked(&check{sure: true, fits: false})
	s.checked(&check{sure: false, fits: false})
	var got Sample
	tally.take(&got, true)
	want := Counts{Sections: 2, Late: 1, Witnessed: 3, Unwitnessed: 1, Breaches: Breaches{Violations: 1, SeenInRedis: 1}}
	if got.Counts != want {
		t.Errorf("counts %+v, want %+v", got.Counts, want)
	}
	if n := got.Times.Across.Count(); n != 1 || got.Times.Handover.Count() != 0 {
		t.Errorf("%d hand-overs across, %d not; want 1, 0", n, got.Times.Handover.Count())
	}
}

func TestFailuresKeepFewTexts(t *testing.T) {
	var f failures
	for i := range 40 {
		f.note(string(rune('a' + i)))
	}
	seen := f.take()
	if len(seen) != kinds+1 || seen["other errors"] != 40-kinds {
		t.Errorf("%d texts, %d others; want %d, %d", len(seen), seen["other errors"], kinds+1, 40-kinds)
	}
}
