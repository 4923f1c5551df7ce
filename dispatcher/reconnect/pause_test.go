package reconnect

import (
	"testing"
	"time"
)

// Pauses double from 10 ms to 1 s, and at least half of each is kept.
func TestPause(t *testing.T) {
	for tries, full := range map[int]time.Duration{0: 10 * time.Millisecond, Flaps: 160 * time.Millisecond, 6: 640 * time.Millisecond, 7: time.Second, 1000: time.Second} {
		for range 1000 {
			if p := Pause(tries); p < full/2 || p >= full {
				t.Fatalf("Pause(%d) = %v, want %v to %v", tries, p, full/2, full)
			}
		}
	}
}

// A connection that has lasted is made again at once, one that flaps soon, and one that was never made ever more rarely.
func TestTries(t *testing.T) {
	for _, c := range []struct {
		before int
		lasted time.Duration
		want   int
	}{{9, Steady, 0}, {9, Steady - 1, Flaps}, {2, 1, 2}, {9, 0, 9}} {
		if got := Tries(c.before, c.lasted); got != c.want {
			t.Errorf("Tries(%d, %v) = %d, want %d", c.before, c.lasted, got, c.want)
		}
	}
}
