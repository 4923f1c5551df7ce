package gate

import "time"

const (
	// streakLimit times HandoffTime is how long a process keeps a name at most before it frees it once, even if no other listener is known:
	// pollers do not subscribe (rule 9: zero proves nothing).
	streakLimit = 10
	// A yield that nobody takes is followed by one twice as long, up to longestYield: a process that is far away, or short of processors,
	// needs longer to ask. A yield that was taken is followed by one half as long.
	minYield     = 2 * time.Millisecond
	longestYield = 128 * time.Millisecond
	// yieldsInVain is the number of yields in vain after which the process rests from yielding, for restLength times the last: a listener
	// does not always wait, because a subscription outlives its waiters.
	yieldsInVain = 4
	restLength   = 3
	// Our turns are short when shortAfter more yields than not were taken by others that soon gave the name back: each turn of the others
	// is one grant, as Redisson's are. shortMost bounds the count. After shortTime the count is set back, so that two of our turns are
	// long.
	shortAfter = 4
	shortMost  = shortAfter + 1
	shortTime  = 2 * time.Second
	// pollMemory is how long an unknown process counts as a poller that took the name after a release without listeners.
	pollMemory = 2 * time.Second
)

// yielding is how a process lets others have a name that it keeps (rule 9).
type yielding struct {
	streak    Time          // when this process last began to have the name without a break
	outside   int32         // how many other subscribers the last count found
	standing  bool          // the last count found engines that stand in line
	handed    int32         // handoffs since this process has the name
	yields    uint8         // yields in vain, less those that were taken
	shorts    uint8         // short turns of others, less those that were long or in vain
	forPoller bool          // the yield under way is for a process that does not listen
	taken     bool          // the last yield was taken
	yield     time.Duration // the yield under way; 0: there is none
	yieldFree Time          // when this process yields again
	takenAt   Time          // when the last yield was found to be taken
	shortEnds Time          // until then our turns are short
	pollEnds  Time          // until then an unknown poller counts as there
}

// keeps reports whether this process may keep the name for its next waiter: not while others listen, and never for longer than a streak may
// last. A name with waiters that poll has turns instead of streaks.
func (y *yielding) keeps(now Time, polls bool, cfg *Config) bool {
	if y.streak == 0 {
		y.streak = now
	}
	return !y.standing && (y.outside == 0 || now < y.yieldFree) && (polls || now-y.streak < y.longest(now, cfg))
}

// longest is how long a streak lasts at most.
func (y *yielding) longest(now Time, cfg *Config) time.Duration {
	if now < y.pollEnds {
		return cfg.HandoffTime
	}
	return streakLimit * cfg.HandoffTime
}

// short reports whether the others, which listen, have the name for one grant at a time.
func (y *yielding) short() bool { return y.shorts >= shortAfter }

// over reports whether this process has had its fair share of grants for so many callers: one for about a third of them. The others get at
// least one grant in their turn, and some of our turns are long.
func (y *yielding) over(callers int32) bool { return y.short() && y.handed >= max(callers/3, 1) }

// pause is how long to leave the name to so many others that received its release.
func (y *yielding) pause(now Time, listeners int32, cfg *Config) time.Duration {
	if listeners <= 0 {
		return y.pauseForPollers(now, cfg)
	}
	if now < y.yieldFree {
		return 0
	}
	first := cfg.firstYield()
	y.yield = max(first, min(first<<y.yields, longestYield))
	return y.yield
}

// firstYield is the shortest time in which others can ask.
func (c *Config) firstYield() time.Duration { return max(minYield, 2*c.RTT) }

// pauseForPollers is the pause at the end of a streak for pollers that do not listen. It meets them by chance: to let them in for certain
// it would have to be as long as their sleep.
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

// endYield ends the yield under way, and notes whether another process took the name.
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

// noteOurs records that this process has the name now. A process that kept it for a while hands it on among its own callers, as we do. Two
// processes with short turns would spend their time on messages. When both have short turns, neither finds out about the other, so after a
// while we try long turns, which the other sees.
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
	y.streak, y.outside, y.standing, y.handed, y.taken = now, 0, false, 0, false
}
