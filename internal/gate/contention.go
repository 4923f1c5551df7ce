package gate

import (
	"time"

	"github.com/wheellock/wheellock/scripts"
)

// contention is what a name needs only while callers compete for it. A mutex makes it when that begins, so that a name for
// which nobody competes stays small.
type contention struct {
	subscription
	yielding
	turns  turns       // of a name whose waiters poll
	keep   Time        // until when the turns are remembered, although nobody wants the name here; Never: they are not
	theirs otherLease  // of the owner that refused us
	last   *lastAnswer // about those who wait

	swapWatch bool   // whether the swap in flight is for a watched hold
	spins     uint8  // refusals in a row, of a waiter that polls
	tokens    tokens // a fenced tenure's

	growing growths
	orphans orphans
}

// refused is an acquire that found another owner.
func (m *Mutex) refused(now, sent Time, ttl time.Duration, fx *Effects) {
	m.tries = 0
	if !m.lock.refused(now, sent, ttl, m.t.ID, false) {
		return
	}
	m.contention.turns.taken = true
	sleep := m.cfg.sleep(ttl, m.t.ID)
	switch {
	case m.traits().polls:
		m.askAt = now + min(m.contention.spin(m.queue.n, m.t.ID), sleep)
	case m.queue.fair != nil:
		m.queue.fair.sleepInQueue(m, now, sleep, fx)
	default:
		m.contention.want(&m.Entry, scripts.LockChannel, fx)
	}
}

// sleep is how long a refused waiter sleeps when no message comes: to the end of the owner's lease, whose last
// millisecond is still its own, or for the poll cap, less a jitter drawn from seed.
func (cfg *Config) sleep(ttl time.Duration, seed uint64) time.Duration {
	sleep := cfg.PollCap - jitter(seed, cfg.PollCap/4)
	if ttl >= 0 {
		sleep = min(sleep, ttl+time.Millisecond)
	}
	return sleep
}

// jitter spreads the sleepers of many processes; it is drawn from the number of the tenure, so that a
// replay draws the same.
func jitter(seed uint64, span time.Duration) time.Duration {
	if span <= 0 {
		return 0
	}
	seed = (seed ^ seed>>30) * 0xbf58476d1ce4e5b9
	return time.Duration((seed ^ seed>>31) % uint64(span))
}

// Subscribed is the subscription of the name, or one of a waiter in the queue of a fair lock.
func (m *Mutex) Subscribed(now Time, refusal string, fx *Effects) {
	if m.queue.fair == nil {
		m.waiting.Subscribed(now, refusal, fx)
		return
	}
	m.queue.fair.subscribedInQueue(m, now, refusal)
	m.pump(now, fx)
}

// heard is a hint that the lock was freed. While we hold it, it is a hint that we do not.
func (m *Mutex) heard(now Time) {
	if m.t.phase == ours {
		m.contention.found(now, false)
		m.suspectAt(now, m.contention.heedAt)
	} else {
		m.hinted(now)
	}
}

// suspectAt has Redis asked at that time at the latest.
func (m *Mutex) suspectAt(now, at Time) {
	m.t.suspected = m.flight != None
	m.t.suspect(max(now, at))
}

// reconnected has the tenure verified, or the waiters ask again.
func (m *Mutex) reconnected(now Time) {
	if l := m.queue.fair; l != nil {
		l.joinAt, l.leaveAt, l.stays, l.leaves = 0, 0, 0, 0
	}
	if m.t.phase == ours {
		m.suspectAt(now, now)
	} else {
		m.askAgain()
	}
}

func (c *contention) nextAlarm(m *Mutex) Time {
	if m.flight == None && m.t.phase != asked && m.t.phase != dead {
		return min(c.linger, c.keep, c.orphans.nextAlarm())
	}
	return min(c.linger, c.keep)
}

// enter notes that the name is ours.
func (c *contention) enter(now Time, cfg *Config) {
	c.yielding.enter(now, cfg)
	c.turns.enter(now)
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
