package gate

import "time"

const (
	// stintLimit times HandoffTime is how long a process keeps a name at most before it frees it once,
	// even if nobody is heard: pollers do not subscribe (rule 9: zero proves nothing).
	stintLimit = 10
	// A yield that nobody takes is followed by one twice as long, up to longestYield: whoever is far away, or gets
	// no processor, needs longer to ask. A yield that was taken is followed by one half as long.
	minYield     = 2 * time.Millisecond
	longestYield = 128 * time.Millisecond
	// yieldsInVain is after how many yields that nobody took we rest from yielding, for restLength times the last:
	// who listens does not always wait, for a subscription outlives its waiters.
	yieldsInVain = 4
	restLength   = 3
)

// yielding is what a process owes to others that want a name it keeps (rule 9).
type yielding struct {
	stint     Time          // when this process last began to hold the name without a break
	outside   int32         // how many others listened at the last count
	yields    uint8         // how many yields more were in vain than were taken
	yield     time.Duration // the one that is under way; 0: none
	yieldFree Time          // until when we do not yield
}

// keeps reports whether this process may keep the name for its next waiter: not while others listen, and
// never for longer than a stint.
func (y *yielding) keeps(now Time, cfg *Config) bool {
	if y.stint == 0 {
		y.stint = now
	}
	return (y.outside == 0 || now < y.yieldFree) && now-y.stint < stintLimit*cfg.HandoffTime
}

// pause is how long to leave a name, whose freeing so many others heard, to them.
func (y *yielding) pause(now Time, heard int32, cfg *Config) time.Duration {
	if heard <= 0 || now < y.yieldFree {
		return 0
	}
	first := max(minYield, 2*cfg.RTT)
	y.yield = max(first, min(first<<y.yields, longestYield))
	return y.yield
}

// settleYield notes whether somebody took what we yielded.
func (y *yielding) settleYield(nobody bool, now Time) {
	if y.yield == 0 {
		return
	}
	if !nobody {
		y.yields -= min(y.yields, 1)
	} else {
		if y.yield < longestYield {
			y.yields++
		}
		if y.yields >= yieldsInVain {
			y.yieldFree = now + restLength*y.yield
		}
	}
	y.yield = 0
}
