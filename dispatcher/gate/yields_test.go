package gate

import (
	"testing"
	"time"
)

// Yields and short turns, one step at a time.
func TestYieldsGrowAndShrink(t *testing.T) {
	cfg := &Config{HandoffTime: 40 * time.Millisecond}
	const now = time.Hour

	polled := yielding{streak: now - cfg.HandoffTime, pollEnds: now + 1}
	if got := polled.pauseForPollers(now, cfg); got != cfg.HandoffTime/4 {
		t.Errorf("somebody polls: a pause of %v, want a quarter of HandoffTime", got)
	}
	longest := yielding{yield: longestYield, yields: yieldsInVain}
	longest.endYield(true, now)
	if longest.yields != yieldsInVain || longest.yieldFree != now+restLength*longestYield {
		t.Errorf("after the longest yield, in vain: %+v", longest)
	}
	longer := yielding{yield: longestYield / 2, yields: yieldsInVain}
	longer.endYield(true, now)
	if longer.yields != yieldsInVain+1 {
		t.Errorf("after a yield in vain that was not the longest: %+v", longer)
	}

	for _, c := range []struct {
		name          string
		y             yielding
		shorts, after uint8
	}{
		{"others had it for a moment", yielding{taken: true, takenAt: now - cfg.HandoffTime/2 + 1}, 1, 2},
		{"others had it for a while", yielding{taken: true, takenAt: now - cfg.HandoffTime/2}, 2, 1},
		{"others had it for a while, the first time", yielding{taken: true, takenAt: now - time.Second}, 0, 0},
		{"others had it for a moment, often", yielding{taken: true, takenAt: now}, shortAfter - 1, shortAfter},
		{"nobody had it", yielding{}, 2, 2},
		{"turns are short", yielding{taken: true, takenAt: now, shortEnds: now + 1}, shortAfter, shortAfter + 1},
		{"turns were short for long", yielding{taken: true, takenAt: now, shortEnds: now - 1}, shortAfter, shortAfter - 2},
	} {
		c.y.shorts = c.shorts
		if c.y.noteOurs(now, cfg); c.y.shorts != c.after {
			t.Errorf("%s: %d short turns after %d, want %d", c.name, c.y.shorts, c.shorts, c.after)
		}
		if ends := c.y.shortEnds == now+shortTime; ends != (c.after == shortAfter && c.shorts < c.after) {
			t.Errorf("%s: they are short until %v", c.name, c.y.shortEnds)
		}
	}
}

// A turn is over after a grant for each third caller, and never after none; a yield is two round trips at least, and bounded.
// invariant: others-get-a-turn
func TestYieldsAreBounded(t *testing.T) {
	const now = time.Hour
	for callers, least := range map[int32]int32{0: 1, 1: 1, 5: 1, 6: 2, 9: 3} {
		for handed, over := range map[int32]bool{least - 1: false, least: true} {
			y := yielding{shorts: shortAfter, handed: handed}
			if y.over(callers) != over {
				t.Errorf("%d callers, %d grants: over %v, want %v", callers, handed, !over, over)
			}
		}
	}
	for _, c := range []struct {
		rtt    time.Duration
		yields uint8
		want   time.Duration
	}{
		{0, 0, minYield}, {0, 1, 2 * minYield}, {minYield, 0, 2 * minYield}, {minYield, 7, longestYield}, {longestYield, 0, 2 * longestYield}, {longestYield, 3, 2 * longestYield},
	} {
		y := yielding{yields: c.yields}
		if got := y.pause(now, 1, &Config{RTT: c.rtt}); got != c.want {
			t.Errorf("round trips of %v, %d yields in vain: %v, want %v", c.rtt, c.yields, got, c.want)
		}
	}
	cfg := &Config{HandoffTime: minYield}
	polled := yielding{streak: now - cfg.HandoffTime, pollEnds: now + 1}
	if got := polled.pauseForPollers(now, cfg); got != minYield {
		t.Errorf("somebody polls, and turns are short: a pause of %v, want %v", got, minYield)
	}
	for before, after := range map[uint8]uint8{0: 0, 1: 0, 5: 4} {
		y := yielding{yield: minYield, shorts: before}
		if y.endYield(true, now); y.shorts != after {
			t.Errorf("a yield in vain after %d short turns: %d, want %d", before, y.shorts, after)
		}
	}
	most := yielding{taken: true, takenAt: now, shorts: shortMost, shortEnds: now + 1}
	if most.noteOurs(now, cfg); most.shorts != shortMost {
		t.Errorf("%d short turns, want %d at most", most.shorts, shortMost)
	}
}
