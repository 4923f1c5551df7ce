package gate

import "time"

const (
	// streakLimit times HandoffTime is how long a process keeps a name at most before it frees it once,
	// even if nobody is heard: pollers do not subscribe (rule 9: zero proves nothing).
	streakLimit = 10
	// A yield that nobody takes is followed by one twice as long, up to longestYield: whoever is far away, or gets
	// no processor, needs longer to ask. A yield that was taken is followed by one half as long.
	minYield     = 2 * time.Millisecond
	longestYield = 128 * time.Millisecond
	// yieldsInVain is after how many yields that nobody took we rest from yielding, for restLength times the last:
	// who listens does not always wait, for a subscription outlives its waiters.
	yieldsInVain = 4
	restLength   = 3
	// Our turns are short from when shortAfter more yields than not were taken by others who soon gave the name back:
	// each turn of the others is one grant, as Redisson's are. shortMost bounds the count. After shortTime it is set
	// back, so that two of our turns are long.
	shortAfter = 4
	shortMost  = shortAfter + 1
	shortTime  = 2 * time.Second
	// pollMemory is how long somebody who was not heard, but took what we left alone, is taken to poll.
	pollMemory = 2 * time.Second
)

// yielding is what a process owes to others that want a name it keeps (rule 9).
type yielding struct {
	streak    Time          // when this process last began to hold the name without a break
	outside   int32         // how many others listened at the last count
	handed    int32         // grants without asking Redis since we have the name
	yields    uint8         // how many yields more were in vain than were taken
	shorts    uint8         // how many turns of others were short, less one for each that was not or was in vain
	forPoller bool          // the yield under way is for somebody who does not listen
	taken     bool          // the last yield was taken
	yield     time.Duration // the one that is under way; 0: none
	yieldFree Time          // until when we do not yield
	takenAt   Time          // when we saw that it was
	shortEnds Time          // until when our turns are short
	pollEnds  Time          // until when somebody is taken to poll
}

// keeps reports whether this process may keep the name for its next waiter: not while others listen, and
// never for longer than a streak may last. A name whose waiters poll has turns instead of streaks.
func (y *yielding) keeps(now Time, polls bool, cfg *Config) bool {
	if y.streak == 0 {
		y.streak = now
	}
	return (y.outside == 0 || now < y.yieldFree) && (polls || now-y.streak < y.longest(now, cfg))
}

// longest is how long a streak lasts at most.
func (y *yielding) longest(now Time, cfg *Config) time.Duration {
	if now < y.pollEnds {
		return cfg.HandoffTime
	}
	return streakLimit * cfg.HandoffTime
}

// short reports whether others, who listen, have the name for one grant at a time.
func (y *yielding) short() bool { return y.shorts >= shortAfter }

// over reports whether so many callers here have had as many grants as is fair: about a third of them one each, for the
// others are at least one, and some of our turns are long.
func (y *yielding) over(callers int32) bool { return y.short() && y.handed >= max(callers/3, 1) }

// pause is how long to leave a name, whose freeing so many others heard, to them.
func (y *yielding) pause(now Time, listeners int32, cfg *Config) time.Duration {
	if listeners <= 0 {
		return y.pauseForPollers(now, cfg)
	}
	if now < y.yieldFree {
		return 0
	}
	first := max(minYield, 2*cfg.RTT)
	y.yield = max(first, min(first<<y.yields, longestYield))
	return y.yield
}

// pauseForPollers is the pause at the end of a streak for whoever polls without listening. It meets them by chance: to let them
// in for certain, it would have to be as long as their sleep.
func (y *yielding) pauseForPollers(now Time, cfg *Config) time.Duration {
	if cfg.HandoffTime <= 0 || y.streak == 0 || now-y.streak < y.longest(now, cfg) {
		return 0
	}
	y.yield, y.forPoller = minYield, true
	if now < y.pollEnds {
		y.yield = max(minYield, cfg.HandoffTime/4)
	}
	return y.yield
}

// endYield notes whether somebody took what we yielded.
func (y *yielding) endYield(nobody bool, now Time) {
	switch {
	case y.yield == 0:
		return
	case y.forPoller:
		if !nobody {
			y.pollEnds = now + pollMemory
		}
	case nobody:
		y.shorts -= min(y.shorts, 1)
		if y.yield < longestYield || y.yields < yieldsInVain {
			y.yields++
		}
		if y.yields >= yieldsInVain {
			y.yieldFree = now + restLength*y.yield
		}
	default:
		y.taken, y.takenAt = true, now
		y.yields -= min(y.yields, 1)
	}
	y.yield, y.forPoller = 0, false
}

// noteOurs notes that the name is ours. Who kept it for a while hands it on among its own callers, as we do: two processes
// with short turns would spend their time on messages. Where both have begun to, neither finds out about the other, so
// after a while we try long turns, which the other sees.
func (y *yielding) noteOurs(now Time, cfg *Config) {
	switch {
	case y.short() && now >= y.shortEnds:
		y.shorts = shortAfter - 2
	case y.taken && now-y.takenAt >= cfg.HandoffTime/2:
		y.shorts -= min(y.shorts, 1)
	case y.taken:
		if y.shorts = min(y.shorts+1, shortMost); y.shorts == shortAfter {
			y.shortEnds = now + shortTime
		}
	}
	y.streak, y.outside, y.handed, y.taken = now, 0, 0, false
}
