package wheel

import (
	"testing"
	"time"
)

// What a gauge shows when it can be read first is no suspension: nobody knows what it showed when the clock began.
// invariant: clock-counts-suspension
func TestTheFirstReadingIsNoSuspension(t *testing.T) {
	ahead, known := time.Hour, false
	c := newClock(time.Now(), func() (time.Duration, bool) {
		if !known {
			return 0, false
		}
		return ahead, true
	})
	if got := c.Check(); got != 0 {
		t.Errorf("a gauge that cannot be read tells of %v", got)
	}
	known = true
	if got := c.Check(); got != 0 {
		t.Errorf("the first reading tells of a suspension of %v", got)
	}
	ahead += time.Minute
	if got := c.Check(); got != time.Minute {
		t.Errorf("the second reading tells of %v, want a minute", got)
	}
}
