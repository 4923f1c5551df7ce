package gate

import "time"

const (
	// stintLimit times HandoffTime is how long a process keeps a name at most before it frees it once,
	// even if nobody is heard: pollers do not subscribe (rule 9: zero proves nothing).
	stintLimit = 10
	// yieldsInVain is after how many yields that nobody took we rest from yielding: who listens does not
	// always wait, for a subscription outlives its waiters. The rest doubles from firstRest to longestRest as
	// long as nobody takes what is yielded. It is short: a process that was only slow gets nothing meanwhile,
	// and a yield in vain costs no more than a sixth of the time between two.
	yieldsInVain = 4
	firstRest    = 25 * time.Millisecond
	longestRest  = 100 * time.Millisecond
	minYield     = 2 * time.Millisecond
)

// yielding is what a process owes to others that want a name it keeps (rule 9).
type yielding struct {
	stint     Time  // when this process last began to hold the name without a break
	outside   int32 // how many others listened at the last count
	yields    uint8 // how often in a row nobody took what we yielded
	yielding  bool  // a yield is under way
	yieldFree Time  // until when we do not yield
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
	y.yielding = true
	return max(minYield, 2*cfg.RTT) << min(y.yields, yieldsInVain-1)
}

// settleYield notes whether somebody took what we yielded.
func (y *yielding) settleYield(nobody bool, now Time) {
	if !y.yielding {
		return
	}
	y.yielding = false
	if !nobody {
		y.yields = 0
		return
	}
	if y.yields++; y.yields >= yieldsInVain {
		y.yields = min(y.yields, yieldsInVain+5)
		y.yieldFree = now + min(firstRest<<(y.yields-yieldsInVain), longestRest)
	}
}
