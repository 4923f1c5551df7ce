package gate

import "time"

// What a process that hands a mutex on among its own callers leaves to other processes: to those that listen by yielding
// (yielding.go), to those that poll by taking turns (turns.go). Without contention there is nothing to leave.

// turnOver reports whether it is the turn of others, who have shown that they want the name; callers is how many of ours
// have it or want it.
func (c *contention) turnOver(now Time, callers int32, polls bool, cfg *Config) bool {
	switch {
	case c == nil:
		return false
	case polls:
		return c.turns.over(now, callers, cfg)
	default:
		return c.yielding.over(callers)
	}
}

// pause is how long we leave a name to others that listen; heard of them heard of its release, and waiters of ours wait.
func (c *contention) pause(now Time, heard, waiters int32, cfg *Config) time.Duration {
	if c == nil || waiters == 0 && !c.yielding.short() { // no pause is kept that nobody is in
		return 0
	}
	return c.yielding.pause(now, heard, cfg)
}

// pausePolling is how long we leave a freed name to others that poll. The end of our turn counts also if nobody waits
// here at this moment: callers that come again soon have the name as much as those who wait.
func (c *contention) pausePolling(now Time, waiters int32, seed uint64, cfg *Config) time.Duration {
	if c == nil {
		return 0
	}
	c.turns.left = now
	c.keep = c.turns.settled()
	switch {
	case c.turnOver(now, waiters+1, true, cfg):
		return c.turns.leave(now, seed)
	case waiters == 0:
		return 0
	default:
		return c.spin(waiters, seed)
	}
}

// pausing reports whether a freed name is left to others although nobody waits here.
func (c *contention) pausing() bool {
	return c != nil && (c.turns.pause || c.yield != 0 && c.short())
}

// Between the questions of a waiter that polls: 1 ms doubling to 128 ms as Redisson's spin lock, a part of it random.
//
// One question is for all waiters of this process. Several of them ask more often at first, commonTries times after
// each sleep up to commonSpin: a caller that has just unlocked asks again within one round trip, and most questions of
// the waiters miss the moment in which the name is free. After mostSpins refusals, about 200 ms, they ask every twice
// commonSpin, or as often as so many pollers would.
const (
	firstSpin   = time.Millisecond
	commonSpin  = 8 * time.Millisecond
	commonTries = 4
	mostSpins   = 32
)

// spin is how long so many waiters sleep after a refusal. seed is for the jitter.
func (c *contention) spin(waiters int32, seed uint64) time.Duration {
	sleep := min(firstSpin<<c.spins, longestSpin)
	if waiters > 1 {
		sleep = min(firstSpin<<(c.spins/commonTries), commonSpin)
		if c.spins == mostSpins {
			sleep = max(min(longestSpin/time.Duration(waiters), 2*commonSpin), firstSpin)
		}
	}
	c.spins = min(c.spins+1, mostSpins)
	return sleep - jitter(seed, sleep/2)
}
