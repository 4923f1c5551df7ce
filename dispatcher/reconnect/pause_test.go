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
