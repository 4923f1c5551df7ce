package gate

import (
	"testing"
	"time"
)

// An answer about another owner's lease says whether somebody has taken or prolonged it since the answer before.
func TestOtherLeases(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		name    string
		before  time.Duration // that was left
		then    time.Duration // a second later
		changed bool
	}{
		{"goes on", 5000 * ms, 4000 * ms, false},
		{"ends later by what rounding may do", 5000 * ms, 4002 * ms, false},
		{"ends later", 5000 * ms, 4003 * ms, true},
		{"ends earlier by what rounding may do", 5000 * ms, 3998 * ms, false},
		{"ends earlier", 5000 * ms, 3997 * ms, true},
		{"has no end", -1, -1, false},
		{"has no end any more", 5000 * ms, -1, true},
		{"has an end now", -1, 4000 * ms, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var l otherLease
			l.update(time.Hour, time.Hour, c.before)
			if got := l.update(time.Hour+time.Second, time.Hour+time.Second, c.then); got != c.changed {
				t.Errorf("%v left, a second later %v: changed %v, want %v", c.before, c.then, got, c.changed)
			}
		})
	}
}

// However often something is in vain, its pause stays the longest.
func TestPausesStayLong(t *testing.T) {
	var r retries
	for n := range 1000 {
		if pause := r.next(uint64(n)); n > 3 && pause < longestPause*3/4 {
			t.Fatalf("pause %d is %v", n, pause)
		}
	}
}
