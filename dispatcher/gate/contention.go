package gate

import (
	"slices"
	"time"
)

// contention is what a name needs only while callers compete for it. A mutex makes it when that begins, so that a name for
// which nobody competes stays small. What is asked of a nil *contention is answered as if there were nothing of all this.
type contention struct {
	subscription
	yielding
	turns  turns       // of a name with waiters that poll
	keep   Time        // until when the turns are remembered, although nobody wants the name here; Never: they are not
	theirs otherLease  // of the owner that refused us
	last   *lastAnswer // about the waiters

	spins  uint8  // refusals in a row, of a waiter that polls
	tokens tokens // a fenced tenure's

	growing  growths
	orphans  orphans
	claim    claim
	stay     stay
	adopting adoptions
	wanting  wanting
}

// nextAlarm is when the first of these is due; free: orphans may be released.
func (c *contention) nextAlarm(free bool) Time {
	if free {
		return min(c.linger, c.keep, c.orphans.nextAlarm())
	}
	return min(c.linger, c.keep)
}

// enter notes that the name is ours.
func (c *contention) enter(now Time, cfg *Config) {
	c.yielding.enter(now, cfg)
	c.turns.enter(now)
	c.found(now, true)
	c.spins = 0
}

// forget ends the memory of the turns when it is time.
func (c *contention) forget(now Time) {
	if now >= c.keep {
		c.keep = Never
	}
}

func (c *contention) idle() bool {
	return c.state == unsubscribed && c.keep == Never && len(c.orphans) == 0
}

// forced reports whether the tenure of this number was to be freed by force before the answer came that it is ours.
func (c *contention) forced(id uint64) (ack Settler, forced bool) {
	if c == nil {
		return nil, false
	}
	o, forced := c.orphans.take(id)
	return o.ack, forced
}

// endClaim forgets the claim of a tenure that is ours, or is released.
func (c *contention) endClaim(id uint64) {
	if c != nil && c.claim.id == id {
		c.claim.id = 0
	}
}

// stayFor is for how long the name is to stay taken from now on.
func (c *contention) stayFor(now Time) time.Duration {
	if c == nil {
		return 0
	}
	return max(c.stay.lease, c.stay.least, ceilMillis(c.stay.until-now))
}

// stayNoLonger has the name freed at once.
func (c *contention) stayNoLonger() {
	if c != nil {
		c.stay = stay{}
	}
}

// releaseArgs are those of a release of ours, or of that owner, if it is not empty.
func (c *contention) releaseArgs(op Op, owner string) Args {
	a := ReleaseArgs{Owner: owner}
	if op == ReleaseClaim && c.state == subscribed {
		a.Own = 1
	}
	return a.Args()
}

// adoptions are the callers that want to take the place of an owner that stands in Redis, each under a fresh owner id. They do
// not stand in the queue: the name is not free, and nobody in the queue could have it instead. Each asks once.
type adoptions []*Waiter

// forget leaves out a caller that waits no longer. False: it is not among them.
func (as *adoptions) forget(w *Waiter) bool {
	i := slices.Index(*as, w)
	if i >= 0 {
		*as = slices.Delete(*as, i, i+1)
	}
	return i >= 0
}

// takeFor takes out the first that wants the place for which c asked, under t, or under one that is alike; nil: there is none.
func (as *adoptions) takeFor(c *Command, t *Tenure) *Waiter {
	i := slices.IndexFunc(*as, func(w *Waiter) bool {
		return w.Adopts == c.Args.Adopt().Owner && w.Lease == t.Lease && w.Watch == t.Watch && w.Least <= c.Lease
	})
	if i < 0 {
		return nil
	}
	w := (*as)[i]
	*as = slices.Delete(*as, i, i+1)
	return w
}

// turnAdoptersAway answers all waiters that want to take the place of another owner than that one.
func (c *contention) turnAdoptersAway(cfg *Config, why Why, but string) {
	if c == nil {
		return
	}
	c.adopting = slices.DeleteFunc(c.adopting, func(w *Waiter) bool {
		away := w.Adopts != but
		if away {
			cfg.Answer(w, Outcome{Why: why})
		}
		return away
	})
}

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
// here at this moment: callers that come again soon have the name as much as those that wait.
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
