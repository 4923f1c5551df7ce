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
	if got := polled.pauseUnheard(now, cfg); got != cfg.HandoffTime/4 {
		t.Errorf("somebody polls: a pause of %v, want a quarter of HandoffTime", got)
	}
	longest := yielding{yield: longestYield, yields: yieldsInVain}
	longest.settleYield(true, now)
	if longest.yields != yieldsInVain || longest.yieldFree != now+restLength*longestYield {
		t.Errorf("after the longest yield, in vain: %+v", longest)
	}
	longer := yielding{yield: longestYield / 2, yields: yieldsInVain}
	longer.settleYield(true, now)
	if longer.yields != yieldsInVain+1 {
		t.Errorf("after a yield in vain that was not the longest: %+v", longer)
	}

	for _, c := range []struct {
		name          string
		y             yielding
		shorts, after uint8
	}{
		{"others had it for a moment", yielding{taken: true, seen: now - cfg.HandoffTime/2 + 1}, 1, 2},
		{"others had it for a while", yielding{taken: true, seen: now - cfg.HandoffTime/2}, 2, 1},
		{"others had it for a while, the first time", yielding{taken: true, seen: now - time.Second}, 0, 0},
		{"others had it for a moment, often", yielding{taken: true, seen: now}, shortAfter - 1, shortAfter},
		{"nobody had it", yielding{}, 2, 2},
		{"turns are short", yielding{taken: true, seen: now, shortEnds: now + 1}, shortAfter, shortAfter + 1},
		{"turns were short for long", yielding{taken: true, seen: now, shortEnds: now - 1}, shortAfter, shortAfter - 2},
	} {
		c.y.shorts = c.shorts
		if c.y.enter(now, cfg); c.y.shorts != c.after {
			t.Errorf("%s: %d short turns after %d, want %d", c.name, c.y.shorts, c.shorts, c.after)
		}
		if ends := c.y.shortEnds == now+shortTime; ends != (c.after == shortAfter && c.shorts < c.after) {
			t.Errorf("%s: they are short until %v", c.name, c.y.shortEnds)
		}
	}
}
